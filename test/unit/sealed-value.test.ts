import { createCipheriv } from 'node:crypto';
import type { KMSClient } from '@aws-sdk/client-kms';
import { describe, expect, it, vi } from 'vitest';
import { openSeal, openUnseal } from '../../lib/integrations/sealed-value.ts';
import { setDeadline } from '../../lib/runtime/execution-environment.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import { awsError, waitMicrotasks } from '../support/doubles/aws-calls.ts';
import { stubKms } from '../support/doubles/shared-kms.ts';
import { useFrozenClock } from '../support/doubles/time.ts';
import { useNoDataKeys } from '../support/doubles/worker-state.ts';

/* The calls to KMS for parameter values, and the handling of its failures. */

useNoDataKeys();

const DATA_KEY = Buffer.alloc(32, 7);
const WRAPPED = Buffer.alloc(300, 9);

const dataKey = { Plaintext: DATA_KEY, CiphertextBlob: WRAPPED };

describe('a sealed value', () => {
  it('is sealed under the given key, by the given client', async () => {
    const calls = stubKms(dataKey, dataKey);
    await openSeal(7);
    const keys: unknown[] = [];
    const other = {
      send: async ({ input }: { input: { KeyId: string } }) => {
        keys.push(input.KeyId);
        return dataKey;
      },
    } as unknown as KMSClient;

    await openSeal(7, 'another key');
    for (const key of ['a', 'a', 'b']) await openSeal(7, key, other);

    expect(calls).toHaveLength(2);
    expect(keys).toEqual(['a', 'b']);
  });

  it('is unsealed with the data key that KMS wrapped for its integration', async () => {
    const calls = stubKms(dataKey, { Plaintext: DATA_KEY });

    const sealed = (await openSeal(7))('välue', 7_000_001);
    const value = await openUnseal()(sealed, 7_000_001);

    expect(value).toBe('välue');
    expect(calls.map(({ operation, input }) => [operation, input])).toEqual([
      [
        'GenerateDataKeyCommand',
        {
          KeyId: process.env.VALUES_KEY,
          KeySpec: 'AES_256',
          EncryptionContext: { service: 'gatehouse', integration: '7' },
        },
      ],
      [
        'DecryptCommand',
        {
          KeyId: process.env.VALUES_KEY,
          CiphertextBlob: WRAPPED,
          EncryptionContext: { service: 'gatehouse', integration: '7' },
        },
      ],
    ]);
  });

  it('consists of format, wrapped key and its length, nonce, tag and ciphertext', async () => {
    stubKms(dataKey);
    const seal = await openSeal(7);

    const [one, other] = [seal('välue', 7_000_001), seal('välue', 7_000_001)].map((bytes) =>
      Buffer.from(bytes),
    );

    expect(one?.subarray(0, 3)).toEqual(Buffer.from([1, 300 >> 8, 300 & 255]));
    expect(one?.subarray(3, 303)).toEqual(WRAPPED);
    expect(one).toHaveLength(3 + 300 + 12 + 16 + 6);
    expect(one?.subarray(303, 315)).not.toEqual(other?.subarray(303, 315));
  });

  it.each([
    ['format, without a call to KMS', 0, 1],
    ['nonce', 303, 2],
    ['tag', 315, 2],
    ['text', 331, 2],
  ])('is rejected when one bit has changed in its %s', async (_, at, kmsCalls) => {
    const calls = stubKms(dataKey, { Plaintext: DATA_KEY });
    const sealed = Buffer.from((await openSeal(7))('value', 7_000_001));
    sealed[at] = (sealed[at] ?? 0) ^ 1;

    await expect(openUnseal()(sealed, 7_000_001)).rejects.toMatchObject({
      message: 'A stored parameter value is not readable',
      // The local cloud prints it.
      cause: expect.any(Error),
    });
    expect(calls).toHaveLength(kmsCalls);
  });

  it('is rejected with a truncated tag', async () => {
    stubKms({ Plaintext: DATA_KEY });
    const cipher = createCipheriv('aes-256-gcm', DATA_KEY, Buffer.alloc(12));
    cipher.setAAD(Buffer.from('CONF/7000001/confValue'));
    cipher.final();
    const head = Buffer.concat([Buffer.from([1, 0, 0]), Buffer.alloc(12)]);
    const short = Buffer.concat([head, cipher.getAuthTag().subarray(0, 4)]);

    await expect(openUnseal()(short, 7_000_001)).rejects.toThrow('is not readable');
  });

  it('fails with the error of KMS in both directions and calls KMS again', async () => {
    const outage = awsError('KMSInternalException');
    stubKms(outage, dataKey, outage, { Plaintext: DATA_KEY });

    await expect(openSeal(7)).rejects.toBe(outage);
    const sealed = (await openSeal(7))('value', 7_000_001);
    await expect(openUnseal()(sealed, 7_000_001)).rejects.toBe(outage);
    expect(await openUnseal()(sealed, 7_000_001)).toBe('value');
  });

  it('costs one decryption with all others under its data key', async () => {
    const calls = stubKms(dataKey, { Plaintext: DATA_KEY });
    const seal = await openSeal(7);
    const onDecryption = vi.fn();
    const unseal = openUnseal({ onDecryption });

    const ids = [7_000_001, 7_000_002];
    await Promise.all(ids.map((id) => unseal(seal('value', id), id)));

    expect(onDecryption).toHaveBeenCalledTimes(1);
    expect(calls).toHaveLength(2);
  });

  it('is aborted half a second before the deadline of the request', async () => {
    const calls = stubKms(dataKey, { Plaintext: DATA_KEY });
    setDeadline(0);

    await openUnseal()((await openSeal(7))('value', 7_000_001), 7_000_001);

    expect(calls.map(({ signal }) => signal?.aborted)).toEqual([true, true]);
  });
});

describe('a data key', () => {
  const NOW = Date.UTC(2030, 0, 1);
  const FIVE_MINUTES = 5 * 60_000;
  useFrozenClock(NOW);

  /** Makes KMS return another data key for each call, and records the integrations of the calls. */
  function stubKmsWithDistinctKeys() {
    const integrations: string[] = [];
    vi.spyOn(sharedKms(), 'send').mockImplementation(async (command: object) => {
      const { input } = command as { input: { EncryptionContext: { integration: string } } };
      integrations.push(input.EncryptionContext.integration);
      await waitMicrotasks();
      return {
        Plaintext: Buffer.alloc(32, integrations.length),
        CiphertextBlob: Buffer.of(integrations.length),
      };
    });
    return integrations;
  }
  const wrappedKeyIn = (sealed: Uint8Array) => sealed[3];

  it('is used for all values of its integration for five minutes', async () => {
    const integrations = stubKmsWithDistinctKeys();
    const sealed: Uint8Array[] = [];

    for (const age of [0, 1000, FIVE_MINUTES - 1, FIVE_MINUTES]) {
      vi.setSystemTime(NOW + age);
      sealed.push((await openSeal(7))('value', 7_000_001));
    }

    expect(sealed.map(wrappedKeyIn)).toEqual([1, 1, 1, 2]);
    expect(integrations).toEqual(['7', '7']);
  });

  it('is requested once by concurrent requests', async () => {
    const integrations = stubKmsWithDistinctKeys();

    await Promise.all([openSeal(7), openSeal(7)]);

    expect(integrations).toEqual(['7']);
  });

  it('is displaced by the keys of 20 other integrations, the oldest first', async () => {
    const integrations = stubKmsWithDistinctKeys();
    for (let id = 1; id <= 21; id++) await openSeal(id);
    integrations.length = 0;

    for (const id of [2, 21, 1]) await openSeal(id);

    expect(integrations).toEqual(['1']);
  });

  it('is the last one to be displaced after it was replaced', async () => {
    const integrations = stubKmsWithDistinctKeys();
    for (let id = 1; id <= 20; id++) await openSeal(id);
    vi.setSystemTime(NOW + FIVE_MINUTES);
    await openSeal(2);
    for (let id = 101; id <= 119; id++) await openSeal(id);
    integrations.length = 0;

    await openSeal(2);

    expect(integrations).toEqual([]);
  });
});
