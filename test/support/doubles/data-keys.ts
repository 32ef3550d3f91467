import { beforeEach, vi } from 'vitest';
import { openSeal } from '../../../lib/integrations/sealed-value.ts';
import { sharedKms } from '../../../lib/runtime/kms.ts';

/**
 * More than any test uses. Never repeated, because all test files of a worker share the data keys.
 */
let unusedIntegrationId = 1_000_000;

/**
 * Makes each test of a file start without data keys: a function keeps those of 20 integrations, so
 * the keys of 20 other integrations displace them. Call it before hooks that count calls to KMS.
 */
export function useNoDataKeys(): void {
  beforeEach(async () => {
    vi.stubEnv('VALUES_KEY', 'values');
    const send = vi.spyOn(sharedKms(), 'send').mockImplementation(async () => ({
      Plaintext: Buffer.alloc(32),
      CiphertextBlob: Buffer.alloc(1),
    }));
    for (let opened = 0; opened < 20; opened++) await openSeal(unusedIntegrationId++);
    send.mockRestore();
  });
}
