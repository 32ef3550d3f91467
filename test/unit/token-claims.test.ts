import { sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeKey, type Part } from '../support/mint.ts';
import { NOW, REFUSED, signedBy, tableOf, useStillClock, verifierOn } from '../support/tokens.ts';

describe('a token that we have signed', () => {
  useStillClock();
  const key = makeKey('one');

  it('tells who calls', async () => {
    const caller = await verifierOn(tableOf(key)).verify(signedBy(key));

    expect(caller).toEqual({ id: 7, jti: 'id', passwordChanges: 3, roles: ['ROLE_USER'] });
  });

  it.each([
    ['some of them others', ['ROLE_ROOT', 'ROLE_ADMIN', 7], ['ROLE_ADMIN']],
    ['no roles', undefined, []],
    ['a text instead of roles', 'ROLE_ADMIN', []],
  ])('gives only roles that there are: %s', async (_, roles, expected) => {
    const caller = await verifierOn(tableOf(key)).verify(signedBy(key, { roles }));

    expect(caller.roles).toEqual(expected);
  });

  it.each<[string, Part]>([
    ['of a clock that is a minute ahead', { iat: NOW + 60 }],
    ['of the longest life', { exp: NOW + 86_400 }],
    ['in its last second', { iat: NOW - 3600, exp: NOW }],
    ['whose nbf has come', { nbf: NOW }],
    ['of the largest id', { sub: String(Number.MAX_SAFE_INTEGER) }],
  ])('is accepted: %s', async (_, claims) => {
    const caller = await verifierOn(tableOf(key)).verify(signedBy(key, claims));

    expect(caller.jti).toBe('id');
  });

  it.each<[string, Part, Part?]>([
    ['without end', { exp: undefined }],
    ['with an end that is a text', { exp: String(NOW + 3600) }],
    ['with an end that is no whole number', { exp: NOW + 0.5 }],
    ['with a life longer than any', { exp: NOW + 86_401 }],
    ['that has ended', { iat: NOW - 3601, exp: NOW - 1 }],
    ['without a beginning', { iat: undefined }],
    ['with a beginning that is a text', { iat: String(NOW) }],
    ['with a beginning that is no whole number', { iat: NOW - 0.5 }],
    ['from the future', { iat: NOW + 61 }],
    ['that does not count password changes', { passwordChanges: undefined }],
    ['that counts password changes in words', { passwordChanges: '3' }],
    ['that does not count yet', { nbf: NOW + 1 }],
    ['of another issuer', { iss: 'there' }],
    ['of no issuer', { iss: undefined }],
    ['for another audience', { aud: 'elsewhere' }],
    ['for no audience', { aud: undefined }],
    ['for several audiences', { aud: ['gatehouse', 'elsewhere'] }],
    ['for us in a list', { aud: ['gatehouse'] }],
    ['of nobody', { sub: undefined }],
    ...['', '0', '07', '-1', '1.5', '1e3', ' 7', '7\n', 'admin', '12345678901234567', 7].map((sub): [string, Part] => [
      `of the subject ${JSON.stringify(sub)}`,
      { sub },
    ]),
    ['without an id', { jti: undefined }],
    ['with an id that is no text', { jti: 7 }],
    ['too long for a header', { more: 'x'.repeat(1500) }],
    ['of another type', {}, { typ: 'JWT' }],
    ['of no type', {}, { typ: undefined }],
    ['with something critical that we do not know', {}, { crit: ['b64'], b64: false }],
    ...['ES384', 'ES512', 'ES256K', 'RS256', 'PS256', 'EdDSA', 'HS256', 'HS512', 'none', 'es256', '', 7, ['ES256']].map(
      (alg): [string, Part, Part] => [`with the algorithm ${JSON.stringify(alg)}`, {}, { alg }],
    ),
    ['with no algorithm', {}, { alg: undefined }],
  ])('is refused, although it is signed: %s', async (_, claims, header) => {
    const verifier = verifierOn(tableOf(key));

    const answer = verifier.verify(signedBy(key, claims, header));

    await expect(answer).rejects.toEqual(REFUSED);
  });

  it('is refused with a signature of any length but 64 bytes', async () => {
    const verifier = verifierOn(tableOf(key));
    const good = signedBy(key);
    const [, input = '', signature = ''] = /^(.+)\.(.+)$/.exec(good) ?? [];
    const bytes = Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.alloc(100, 1)]);

    for (let length = 0; length <= 130; length++) {
      const answer = verifier.verify(`${input}.${bytes.subarray(0, length).toString('base64url')}`);

      if (length === 64) await expect(answer).resolves.toMatchObject({ id: 7 });
      else await expect(answer, `${length} bytes`).rejects.toEqual(REFUSED);
    }
  });

  it.each<[string, (good: string) => string]>([
    ['a blank behind', (good) => `${good} `],
    ['a line break behind', (good) => `${good}\n`],
    ['a line break in front', (good) => `\n${good}`],
    ['padding', (good) => `${good}==`],
    ['a tab as the space', (good) => good.replace(' ', '\t')],
    ['itself once more', (good) => `${good},${good}`],
    [
      'a signature in DER',
      (good) => {
        const [, input = ''] = /^Bearer (.+)\./.exec(good) ?? [];
        return `Bearer ${input}.${sign('sha256', Buffer.from(input), key.privateKey).toString('base64url')}`;
      },
    ],
  ])('is refused with %s', async (_, spoil) => {
    const verifier = verifierOn(tableOf(key));

    const answer = verifier.verify(spoil(signedBy(key)));

    await expect(answer).rejects.toEqual(REFUSED);
  });
});
