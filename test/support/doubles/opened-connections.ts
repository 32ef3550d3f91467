import { EventEmitter } from 'node:events';
import https from 'node:https';
import { afterEach, beforeEach, vi } from 'vitest';

/**
 * Records the URLs that the tests of a file connect to ahead of time, without opening connections.
 */
export function useOpenedConnections(): string[] {
  const opened: string[] = [];
  beforeEach(() => {
    opened.length = 0;
    vi.stubEnv('AWS_ENDPOINT_URL', undefined);
    vi.stubEnv('AWS_REGION', 'eu-south-2');
    vi.spyOn(https, 'request').mockImplementation(((url: URL) => {
      opened.push(url.origin);
      return Object.assign(new EventEmitter(), { end: () => undefined, destroy: () => undefined });
    }) as never);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });
  return opened;
}
