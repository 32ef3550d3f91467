import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { setDeadline } from '../../lib/runtime/execution-environment.ts';
import {
  openModuleKeys,
  openModuleSigner,
  openSigner,
  rawSignature,
} from '../../lib/tokens/signing-keys.ts';
import { thumbprint } from '../../lib/tokens/token.ts';
import { awsError } from '../support/doubles/aws-calls.ts';
import { recordingTable } from '../support/doubles/memory-table.ts';
import { useLogLines } from '../support/doubles/output.ts';
import { stubKms } from '../support/doubles/shared-kms.ts';
import { freezeClock } from '../support/doubles/time.ts';
import { makeSigningKeyPair } from '../support/instance/mint.ts';
import {
  NOW,
  REJECTED,
  signedBy,
  tableOf,
  useVerifierEnvironment,
  verifierOn,
} from '../support/instance/tokens.ts';

describe('the public keys that verify tokens', () => {
  useVerifierEnvironment();
  const [key, other] = [makeSigningKeyPair('one'), makeSigningKeyPair('two')];
  const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

  it('are read again for an unknown key id, at most every 30 seconds', async () => {
    const table = tableOf(key);
    const verifier = verifierOn(table);
    const reads: number[] = [];

    for (const seconds of [0, 0, 30, 1, 0, 30, 1]) {
      pass(seconds);
      await expect(verifier.verify(signedBy(other))).rejects.toEqual(REJECTED);
      reads.push(table.reads);
    }

    expect(reads).toEqual([2, 2, 2, 3, 3, 3, 4]);
  });

  it('expire after five minutes, so that a removed key no longer verifies tokens', async () => {
    const table = tableOf(key, other);
    const verifier = verifierOn(table);
    await verifier.verify(signedBy(key));
    table.keys.pop();
    pass(300);
    await verifier.verify(signedBy(other));
    pass(1);

    await expect(verifier.verify(signedBy(other))).rejects.toEqual(REJECTED);
    expect((await verifier.verify(signedBy(key))).id).toBe(7);
  });

  it('are read by the next request when the table was unavailable at the start', async () => {
    const table = tableOf(key);
    table.isAvailable = false;
    const verifier = verifierOn(table);
    await expect(verifier.verify(signedBy(key))).rejects.toThrow('The table is unavailable');
    table.isAvailable = true;

    expect((await verifier.verify(signedBy(key))).id).toBe(7);
  });
});

it('thumbprint follows RFC 7638', () => {
  // The example of RFC 7638 is an RSA key; this value was computed with another implementation.
  const x = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU';
  const y = 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0';

  expect(thumbprint({ x, y })).toBe('oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U');
});

describe('openSigner', () => {
  const lines = useLogLines();

  function keyInKms() {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const kid = thumbprint({ x, y });
    const jwk = { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
    return { jwk, publicKey, privateKey, response: { PublicKey: spki } };
  }
  const [one, other] = [keyInKms(), keyInKms()];
  const outage = awsError('KMSInternalException');

  const claimOf = ({ jwk }: typeof one) => ({
    act: 'Put',
    key: { pk: 'JWKS', sk: jwk.kid },
    attributes: { jwk },
    condition: 'attribute_not_exists(pk)',
    onConditionFailed: 'retry',
  });
  const asn1 = (input: string, key: KeyObject) => sign('sha256', Buffer.from(input), key);

  it('publishes its key once, before it signs with it', async () => {
    const calls = stubKms(one.response, { Signature: asn1('input', one.privateKey) });
    const table = recordingTable();
    const signer = openSigner(table, ['first']);

    const { kid, sign: signIt } = await signer();
    await signer();
    const published = [...table.transactions];
    const signature = await signIt('input');

    expect([kid, published]).toEqual([one.jwk.kid, [[claimOf(one)]]]);
    const verifier = { key: one.publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from('input'), verifier, signature)).toBe(true);
    expect(calls.map(({ operation }) => operation)).toEqual(['GetPublicKeyCommand', 'SignCommand']);
    expect(calls[1]?.input).toMatchObject({
      MessageType: 'RAW',
      SigningAlgorithm: 'ECDSA_SHA_256',
    });
  });

  it('publishes its key again after a minute, because it may have been deleted', async () => {
    freezeClock(NOW);
    stubKms(one.response, one.response);
    const table = recordingTable();
    const signer = openSigner(table, ['first']);

    await signer();
    vi.setSystemTime(NOW + 60_000);
    await signer();
    expect(table.transactions).toHaveLength(1);
    vi.setSystemTime(NOW + 60_001);
    await signer();
    await signer();

    expect(table.transactions).toEqual([[claimOf(one)], [claimOf(one)]]);
  });

  it('publishes all keys of SIGNING_KEYS that it can, and signs with the first', async () => {
    vi.stubEnv('SIGNING_KEYS', 'first,second,third');
    const Signature = asn1('x', one.privateKey);
    const disabled = awsError('DisabledException');
    const calls = stubKms(one.response, disabled, other.response, { Signature });
    const table = recordingTable();

    const signer = await openSigner(table)();
    await signer.sign('x');

    expect(signer.kid).toBe(one.jwk.kid);
    expect(table.transactions).toEqual([[claimOf(one)], [claimOf(other)]]);
    expect(calls.map(({ input }) => input.KeyId)).toEqual(['first', 'second', 'third', 'first']);
    expect(lines).toMatchObject([{ keyNotPublished: 'DisabledException' }]);
  });

  it('fails when its first key cannot be published and tries again at the next login', async () => {
    const calls = stubKms(outage, outage, one.response);
    const signer = openSigner(recordingTable(), ['first']);

    await expect(signer()).rejects.toMatchObject({ name: 'KMSInternalException' });
    await expect(signer()).rejects.toMatchObject({ name: 'KMSInternalException' });
    expect((await signer()).kid).toBe(one.jwk.kid);
    await signer();

    expect(calls).toHaveLength(3);
    expect(lines).toEqual([]);
  });

  it('aborts its calls half a second before the deadline of the request', async () => {
    const calls = stubKms(one.response, { Signature: asn1('x', one.privateKey) });
    setDeadline(0);

    const table = recordingTable({ pk: 'JWKS', sk: one.jwk.kid });
    const signer = await openSigner(table, ['first'])();
    await signer.sign('x');
    setDeadline(Number.POSITIVE_INFINITY);

    expect(calls.map(({ signal }) => signal?.aborted)).toEqual([true, true]);
    // Its key is published already.
    expect(table.transactions).toEqual([]);
  });

  it('leaves the keys of modules out of the table, and asks until KMS answers', async () => {
    vi.stubEnv('MODULE_KEYS', 'one,two');
    const calls = stubKms(outage, one.response, one.response, other.response);
    const [signer, readKeys] = [openModuleSigner(), openModuleKeys()];

    await expect(signer()).rejects.toMatchObject({ name: 'KMSInternalException' });
    const { kid } = await signer();
    await signer();
    const keys = await readKeys();
    await readKeys();

    expect([kid, keys]).toEqual([one.jwk.kid, [one.jwk, other.jwk]]);
    expect(calls.map(({ input }) => input.KeyId)).toEqual(['one', 'one', 'one', 'two']);
  });

  it('verifies tokens of modules by the first key while another is disabled', async () => {
    vi.stubEnv('MODULE_KEYS', 'one,two');
    const disabled = awsError('DisabledException');
    stubKms(outage, disabled, one.response, disabled, other.response);
    const readKeys = openModuleKeys();

    await expect(readKeys()).rejects.toBe(outage);
    const [first, second] = [await readKeys(), await readKeys()];

    expect(first).toEqual([one.jwk]);
    expect(lines).toMatchObject(Array(2).fill({ keyNotRead: 'DisabledException' }));
    expect(second).toEqual([one.jwk, other.jwk]);
  });
});

describe('a signature from KMS', () => {
  it('is converted from DER to the format of JWS, with r and s of any size', () => {
    const number = fc
      .tuple(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }), fc.integer({ min: 0, max: 255 }))
      .map(([value, bits]) => value >> BigInt(bits) || 1n);
    const hex = (value: bigint) => value.toString(16).padStart(64, '0');

    fc.assert(
      fc.property(number, number, (r, s) => {
        const body = Buffer.concat([integer(r), integer(s)]);
        expect(
          rawSignature(Buffer.concat([Buffer.from([0x30, body.length]), body])).toString('hex'),
        ).toBe(hex(r) + hex(s));
      }),
      { numRuns: 1000 },
    );
  });

  /**
   * A DER INTEGER: minimal length, with a leading zero byte only where the number would be
   * negative.
   */
  function integer(value: bigint): Buffer {
    const digits = value.toString(16);
    const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
    const shown = (bytes[0] as number) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
    return Buffer.concat([Buffer.from([0x02, shown.length]), shown]);
  }
});
