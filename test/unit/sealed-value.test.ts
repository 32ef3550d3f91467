import { afterEach, describe, expect, it, vi } from 'vitest';
import { openSeal, unseal } from '../../lib/integrations/sealed-value.ts';
import { setDeadline } from '../../lib/runtime/deadline.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';

/* The calls to KMS for parameter values, and the handling of its failures. */

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  setDeadline(Number.POSITIVE_INFINITY);
});

const DATA_KEY = Buffer.alloc(32, 7);
const WRAPPED = Buffer.alloc(300, 9);

/** Makes KMS return these responses in turn, and records its calls. */
function stubKms(...responses: (object | Error)[]) {
  vi.stubEnv('VALUES_KEY', 'values');
  const calls: { operation: string; input: unknown; signal: AbortSignal | undefined }[] = [];
  vi.spyOn(sharedKms(), 'send').mockImplementation(async (command: object, options: unknown) => {
    const { input } = command as { input: unknown };
    const { abortSignal } = options as { abortSignal?: AbortSignal };
    calls.push({ operation: command.constructor.name, input, signal: abortSignal });
    const response = responses.shift();
    if (response instanceof Error || !response) throw response;
    return response;
  });
  return calls;
}
const dataKey = { Plaintext: DATA_KEY, CiphertextBlob: WRAPPED };
const outage = () => Object.assign(new Error('KMS'), { name: 'KMSInternalException' });

describe('a sealed value', () => {
  it('is unsealed with the data key that KMS wrapped for its integration', async () => {
    const calls = stubKms(dataKey, { Plaintext: DATA_KEY });

    const sealed = (await openSeal(7))('välue', 7_000_001);
    const value = await unseal(sealed, 7_000_001);

    expect(value).toBe('välue');
    expect(calls.map(({ operation, input }) => [operation, input])).toEqual([
      [
        'GenerateDataKeyCommand',
        { KeyId: 'values', KeySpec: 'AES_256', EncryptionContext: { service: 'gatehouse', integration: '7' } },
      ],
      [
        'DecryptCommand',
        {
          KeyId: 'values',
          CiphertextBlob: WRAPPED,
          EncryptionContext: { service: 'gatehouse', integration: '7' },
        },
      ],
    ]);
  });

  it('consists of format, length of wrapped key, wrapped key, unique nonce, tag and ciphertext', async () => {
    stubKms(dataKey);
    const seal = await openSeal(7);

    const [one, other] = [seal('välue', 7_000_001), seal('välue', 7_000_001)].map((bytes) => Buffer.from(bytes));

    expect(one?.subarray(0, 3)).toEqual(Buffer.from([1, 300 >> 8, 300 & 255]));
    expect(one?.subarray(3, 303)).toEqual(WRAPPED);
    expect(one).toHaveLength(3 + 300 + 12 + 16 + 6);
    expect(one?.subarray(303, 315)).not.toEqual(other?.subarray(303, 315));
  });

  it.each([
    ['another parameter', 7_000_002],
    ['another integration', 8_000_001],
  ])('cannot be unsealed for %s', async (_, id) => {
    stubKms(dataKey, { Plaintext: DATA_KEY });
    const sealed = (await openSeal(7))('value', 7_000_001);

    await expect(unseal(sealed, id)).rejects.toThrow();
  });

  it('is rejected in another format without a call to KMS', async () => {
    const calls = stubKms(dataKey);
    const sealed = (await openSeal(7))('value', 7_000_001);
    sealed[0] = 2;

    await expect(unseal(sealed, 7_000_001)).rejects.toThrow('A stored parameter value is not readable');
    expect(calls).toHaveLength(1);
  });

  it('fails with the error of KMS in both directions and calls KMS again the next time', async () => {
    stubKms(outage(), dataKey, outage(), { Plaintext: DATA_KEY });

    await expect(openSeal(7)).rejects.toMatchObject({ name: 'KMSInternalException' });
    const sealed = (await openSeal(7))('value', 7_000_001);
    await expect(unseal(sealed, 7_000_001)).rejects.toMatchObject({ name: 'KMSInternalException' });
    expect(await unseal(sealed, 7_000_001)).toBe('value');
  });

  it('is aborted half a second before the deadline of the request', async () => {
    const calls = stubKms(dataKey, { Plaintext: DATA_KEY });
    setDeadline(0);

    await unseal((await openSeal(7))('value', 7_000_001), 7_000_001);

    expect(calls.map(({ signal }) => signal?.aborted)).toEqual([true, true]);
  });
});
