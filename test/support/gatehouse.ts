import { afterAll, beforeAll, inject } from 'vitest';
import { type Gatehouse, type Launch, launch } from './launch.ts';

export type { Gatehouse, Received } from './launch.ts';

type Options = Partial<Omit<Launch, 'heldToRows'>>;

/** Gatehouse on the stack of this run, or on a mutant. */
export function startGatehouse(options: Options = {}): Promise<Gatehouse> {
  return launch({ assembly: inject('assembly'), ...options, heldToRows: options.assembly === undefined });
}

/** Gatehouse for all tests of a file. */
export function useGatehouse(options?: Options): Gatehouse {
  let started: Gatehouse | undefined;
  beforeAll(async () => {
    started = await startGatehouse(options);
  });
  afterAll(() => started?.stop());
  return new Proxy({} as Gatehouse, {
    get: (_, name) => started?.[name as keyof Gatehouse],
  });
}
