import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { moduleToken } from '../../lib/modules/module-token.ts';
import type { Table } from '../../lib/table/table.ts';
import { rawSignature } from '../../lib/tokens/signing-keys.ts';
import { openVerifier } from '../../lib/tokens/verify-token.ts';
import { makeSigningKeyPair, type SigningKeyPair } from '../support/instance/mint.ts';
import {
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

describe('a key of one kind of tokens', () => {
  useVerifierEnvironment();
  const [people, modules] = [makeSigningKeyPair(), makeSigningKeyPair()];
  const clientId = 'module-17-a1b2c3d4e5f6';
  const readKeys = async () => [modules.jwk as never];
  const ofPerson = (key: SigningKeyPair, header = {}) => signedBy(key, {}, header);
  const ofModule = (key: SigningKeyPair, header = {}) => {
    const claims = { aud: 'gatehouse-modules', sub: clientId, client_id: clientId };
    const life = { integration: 17, exp: Date.now() / 1000 + 900 };
    return signedBy(key, { ...claims, ...life }, { typ: 'module+jwt', ...header });
  };

  it.each([
    ['a token of a person under the key of modules', () => ofPerson(modules)],
    ['the same under the id of the other key', () => ofPerson(modules, { kid: people.jwk.kid })],
    ['the same with the type of a module', () => ofPerson(modules, { typ: 'module+jwt' })],
    ['a token of a module under the key of people', () => ofModule(people)],
    ['the same with the type of a person', () => ofModule(people, { typ: 'at+jwt' })],
    ['a token of an unknown type', () => ofPerson(people, { typ: 'JWT' })],
  ])('never verifies %s', async (_, authorization) => {
    const table = tableOf(people) as unknown as Table;
    const verifier = openVerifier(table, { ...moduleToken(), readKeys });

    await expect(verifier.verify(authorization())).rejects.toEqual(REJECTED);
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
