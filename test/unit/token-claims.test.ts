import { createHmac, createPublicKey, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decode, encode, makeSigningKeyPair, type Part } from '../support/instance/mint.ts';
import {
  NOW,
  REJECTED,
  signedBy,
  tableOf,
  useVerifierEnvironment,
  verifierOn,
} from '../support/instance/tokens.ts';

useVerifierEnvironment();
const key = makeSigningKeyPair('one');
const verify = (authorization: string) => verifierOn(tableOf(key)).verify(authorization);

describe('a token with a valid signature', () => {
  it.each<[string, Part]>([
    ['with an iat one minute ahead', { iat: NOW + 60 }],
    ['with the longest lifetime', { exp: NOW + 86_400 }],
    ['in its last second', { iat: NOW - 3600, exp: NOW }],
    ['whose nbf has been reached', { nbf: NOW }],
    ['with the largest user id', { sub: String(Number.MAX_SAFE_INTEGER) }],
  ])('is accepted %s', async (_, claims) => {
    expect((await verify(signedBy(key, claims))).jti).toBe('id');
  });

  const invalid: Record<string, unknown[]> = {
    sessionEndings: [undefined, '1', 0.5, null],
    exp: [undefined, String(NOW + 3600), NOW + 0.5, NOW + 86_401, NOW - 1],
    iat: [undefined, String(NOW), NOW - 0.5, NOW + 61],
    nbf: [NOW + 1],
    iss: [undefined, 'there'],
    aud: [undefined, 'elsewhere', ['gatehouse', 'elsewhere'], ['gatehouse']],
    sub: [undefined, '', '0', '07', '-1', '1.5', '1e3', ' 7', '7\n', 'admin', '1'.repeat(17), 7],
    jti: [undefined, 7],
    preferred_username: [7, null, ['ada']],
    incarnation: [undefined, 7, null, ['text']],
    passwordChanges: [undefined, '3', 3.5, Number.MAX_SAFE_INTEGER + 1, null],
  };
  const rejected = Object.entries(invalid).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  it.each(rejected)('is rejected with the %s %j', async (name, value) => {
    await expect(verify(signedBy(key, { [name]: value }))).rejects.toEqual(REJECTED);
  });

  it.each<Part>([
    { typ: 'JWT' },
    { typ: undefined },
    { crit: ['b64'], b64: false },
    ...[undefined, 'ES384', 'ES512', 'ES256K', 'RS256', 'PS256', 'EdDSA', 'HS256', 'HS512'].map(
      (alg) => ({ alg }),
    ),
    ...['none', 'es256', '', 7, ['ES256']].map((alg) => ({ alg })),
  ])('is rejected with the header parameters %o', async (header) => {
    await expect(verify(signedBy(key, {}, header))).rejects.toEqual(REJECTED);
  });

  it('is rejected with RS256 by a key that states no alg', async () => {
    const { alg: _, ...jwk } = key.jwk;
    const verifier = verifierOn(tableOf({ ...key, jwk }));

    const confused = signedBy(key, {}, { alg: 'RS256' });
    await expect(verifier.verify(confused)).rejects.toEqual(REJECTED);
    expect((await verifier.verify(signedBy(key))).id).toBe(7);
  });

  it('is rejected with a signature of any length other than 64 bytes', async () => {
    const verifier = verifierOn(tableOf(key));
    const [, input = '', signature = ''] = /^(.+)\.(.+)$/.exec(signedBy(key)) ?? [];
    const bytes = Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.alloc(100, 1)]);

    for (let length = 0; length <= 130; length++) {
      const verification = verifier.verify(
        `${input}.${bytes.subarray(0, length).toString('base64url')}`,
      );

      if (length === 64) await expect(verification).resolves.toMatchObject({ id: 7 });
      else await expect(verification, `${length} bytes`).rejects.toEqual(REJECTED);
    }
  });

  it.each(['\n', '==', ','])('is rejected with %j at its end', async (more) => {
    await expect(verify(signedBy(key) + more)).rejects.toEqual(REJECTED);
  });
});

describe('a forged token', () => {
  const stranger = makeSigningKeyPair('one');
  const valid = () => signedBy(key).replace('Bearer ', '').split('.') as [string, string, string];
  const spki = createPublicKey({ key: key.jwk, format: 'jwk' });

  /**
   * A token whose HMAC uses the public key as the secret: an algorithm confusion attack (RFC 8725,
   * section 2.1).
   */
  function hmac(secret: string | Buffer): string {
    const input = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: 'one' })}.${valid()[1]}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  }

  /** A token with these header parameters, signed with a key that the service does not know. */
  const foreign = (header: Part) => signedBy(stranger, {}, header).replace('Bearer ', '');

  it.each<[string, () => string]>([
    ...(['pem', 'der'] as const).map((format): [string, () => string] => [
      `an HMAC under the public key as ${format}`,
      () => hmac(spki.export({ type: 'spki', format } as never)),
    ]),
    [
      'another header',
      () =>
        valid()
          .with(0, encode({ ...decode(valid()[0]), cty: 'JWT' }))
          .join('.'),
    ],
    ['a header that is null', () => valid().with(0, encode(null)).join('.')],
    ['a header that is not JSON', () => valid().with(0, 'AAAA').join('.')],
    ['a signature of zeros', () => valid().with(2, 'A'.repeat(86)).join('.')],
    [
      'a signature in DER',
      () => {
        const input = valid().slice(0, 2).join('.');
        const der = sign('sha256', Buffer.from(input), key.privateKey);
        return `${input}.${der.toString('base64url')}`;
      },
    ],
    ['a signature by another key', () => foreign({})],
    ['its own verification key in the header', () => foreign({ jwk: stranger.jwk })],
    ['an unknown key', () => foreign({ kid: 'stranger' })],
    ['a key id that is an object property', () => foreign({ kid: '__proto__' })],
    ['no key id', () => foreign({ kid: undefined })],
  ])('is rejected that has %s', async (_, tokenOf) => {
    await expect(verify(`Bearer ${tokenOf()}`)).rejects.toEqual(REJECTED);
  });
});
