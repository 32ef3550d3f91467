import { sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeSigningKeyPair, type Part } from '../support/instance/mint.ts';
import {
  NOW,
  signedBy,
  tableOf,
  UNAUTHORIZED_FAILURE,
  useVerifierEnvironment,
  verifierOn,
} from '../support/instance/tokens.ts';

describe('a token with a valid signature', () => {
  useVerifierEnvironment();
  const key = makeSigningKeyPair('one');

  it('identifies the caller', async () => {
    const caller = await verifierOn(tableOf(key)).verify(
      signedBy(key, { preferred_username: 'ada' }),
    );

    expect(caller).toEqual({ id: 7, jti: 'id', passwordChanges: 3, roles: ['ROLE_USER'] });
  });

  it.each([
    ['some of them unknown', ['ROLE_ROOT', 'ROLE_ADMIN', 7], ['ROLE_ADMIN']],
    ['no roles', undefined, []],
    ['a string instead of an array', 'ROLE_ADMIN', []],
  ])('grants only known roles: %s', async (_, roles, expected) => {
    const caller = await verifierOn(tableOf(key)).verify(signedBy(key, { roles }));

    expect(caller.roles).toEqual(expected);
  });

  it.each<[string, Part]>([
    ['with an iat one minute ahead', { iat: NOW + 60 }],
    ['with the longest lifetime', { exp: NOW + 86_400 }],
    ['in its last second', { iat: NOW - 3600, exp: NOW }],
    ['whose nbf has been reached', { nbf: NOW }],
    ['with the largest user id', { sub: String(Number.MAX_SAFE_INTEGER) }],
  ])('is accepted %s', async (_, claims) => {
    const caller = await verifierOn(tableOf(key)).verify(signedBy(key, claims));

    expect(caller.jti).toBe('id');
  });

  it.each<[string, Part, Part?]>([
    ['without an exp', { exp: undefined }],
    ['with a string as exp', { exp: String(NOW + 3600) }],
    ['with a fractional exp', { exp: NOW + 0.5 }],
    ['with too long a lifetime', { exp: NOW + 86_401 }],
    ['that has expired', { iat: NOW - 3601, exp: NOW - 1 }],
    ['without an iat', { iat: undefined }],
    ['with a string as iat', { iat: String(NOW) }],
    ['with a fractional iat', { iat: NOW - 0.5 }],
    ['with an iat in the future', { iat: NOW + 61 }],
    ['without passwordChanges', { passwordChanges: undefined }],
    ['with a string as passwordChanges', { passwordChanges: '3' }],
    ['before its nbf', { nbf: NOW + 1 }],
    ['of another issuer', { iss: 'there' }],
    ['without an issuer', { iss: undefined }],
    ['for another audience', { aud: 'elsewhere' }],
    ['without an audience', { aud: undefined }],
    ['for several audiences', { aud: ['gatehouse', 'elsewhere'] }],
    ['with its audience in an array', { aud: ['gatehouse'] }],
    ['without a subject', { sub: undefined }],
    ...['', '0', '07', '-1', '1.5', '1e3', ' 7', '7\n', 'admin', '12345678901234567', 7].map(
      (sub): [string, Part] => [`with the subject ${JSON.stringify(sub)}`, { sub }],
    ),
    ['without a jti', { jti: undefined }],
    ['with a number as jti', { jti: 7 }],
    ['that is too long for a header', { more: 'x'.repeat(1500) }],
    ['of another type', {}, { typ: 'JWT' }],
    ['without a type', {}, { typ: undefined }],
    ['with an unknown critical header parameter', {}, { crit: ['b64'], b64: false }],
    ...[
      'ES384',
      'ES512',
      'ES256K',
      'RS256',
      'PS256',
      'EdDSA',
      'HS256',
      'HS512',
      'none',
      'es256',
      '',
      7,
      ['ES256'],
    ].map((alg): [string, Part, Part] => [
      `with the algorithm ${JSON.stringify(alg)}`,
      {},
      { alg },
    ]),
    ['without an algorithm', {}, { alg: undefined }],
  ])('is rejected %s', async (_, claims, header) => {
    const verifier = verifierOn(tableOf(key));

    const verification = verifier.verify(signedBy(key, claims, header));

    await expect(verification).rejects.toEqual(UNAUTHORIZED_FAILURE);
  });

  it('is rejected with a signature of any length other than 64 bytes', async () => {
    const verifier = verifierOn(tableOf(key));
    const good = signedBy(key);
    const [, input = '', signature = ''] = /^(.+)\.(.+)$/.exec(good) ?? [];
    const bytes = Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.alloc(100, 1)]);

    for (let length = 0; length <= 130; length++) {
      const verification = verifier.verify(
        `${input}.${bytes.subarray(0, length).toString('base64url')}`,
      );

      if (length === 64) await expect(verification).resolves.toMatchObject({ id: 7 });
      else await expect(verification, `${length} bytes`).rejects.toEqual(UNAUTHORIZED_FAILURE);
    }
  });

  it.each<[string, (good: string) => string]>([
    ['a trailing space', (good) => `${good} `],
    ['a trailing newline', (good) => `${good}\n`],
    ['a leading newline', (good) => `\n${good}`],
    ['padding', (good) => `${good}==`],
    ['a tab instead of the space', (good) => good.replace(' ', '\t')],
    ['a second copy of itself', (good) => `${good},${good}`],
    [
      'a signature in DER',
      (good) => {
        const [, input = ''] = /^Bearer (.+)\./.exec(good) ?? [];
        const signature = sign('sha256', Buffer.from(input), key.privateKey);
        return `Bearer ${input}.${signature.toString('base64url')}`;
      },
    ],
  ])('is rejected with %s', async (_, tamper) => {
    const verifier = verifierOn(tableOf(key));

    const verification = verifier.verify(tamper(signedBy(key)));

    await expect(verification).rejects.toEqual(UNAUTHORIZED_FAILURE);
  });
});
