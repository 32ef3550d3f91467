import { createHmac, createPublicKey, sign } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../routes.ts';
import { useGatehouse } from './support/gatehouse.ts';
import { decode, encode, es256, makeKey, type Part } from './support/mint.ts';
import { NOW, REFUSED, signedBy, tableOf, useStillClock, verifierOn } from './support/tokens.ts';

describe('a request with a token that is none of ours', () => {
  const gatehouse = useGatehouse();

  /** A good token in its three parts, the public key that verifies it, and a key of somebody else. */
  interface Known {
    readonly header: string;
    readonly claims: string;
    readonly signature: string;
    readonly published: Part & { kid: string };
  }
  let known: Known;
  beforeAll(async () => {
    const [header = '', claims = '', signature = ''] = (await gatehouse.logIn('admin')).split('.');
    const { body } = await gatehouse.call('GET', '/.well-known/jwks.json');
    known = { header, claims, signature, published: body.keys[0] };
  });
  const stranger = makeKey('stranger');

  /** What a stranger signs under such a header. */
  function forged(header: Part, { claims }: Known): string {
    const input = `${encode(header)}.${claims}`;
    return `${input}.${es256(input, stranger.privateKey)}`;
  }

  /** What somebody signs with a public key, taken for a shared secret. */
  function hmac(secret: string | Buffer, { claims, published: { kid } }: Known): string {
    const input = `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${claims}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  }
  const spki = ({ published }: Known) => createPublicKey({ key: published, format: 'jwk' });

  it.each<[string, (known: Known) => string]>([
    ['no signature', ({ header, claims }) => `${header}.${claims}`],
    ['an empty signature', ({ header, claims }) => `${header}.${claims}.`],
    ['four parts', ({ header, claims, signature }) => `${header}.${claims}.${signature}.${signature}`],
    ['alg none', ({ claims }) => `${encode({ alg: 'none', typ: 'at+jwt' })}.${claims}.`],
    ['alg none and a signature', ({ claims, signature }) => `${encode({ alg: 'none' })}.${claims}.${signature}`],
    ['an HMAC under the public key as PEM', (k) => hmac(spki(k).export({ type: 'spki', format: 'pem' }), k)],
    ['an HMAC under the public key as DER', (k) => hmac(spki(k).export({ type: 'spki', format: 'der' }), k)],
    [
      'other claims',
      ({ header, claims, signature }) => `${header}.${encode({ ...decode(claims), sub: '2' })}.${signature}`,
    ],
    [
      'another header',
      ({ header, claims, signature }) => `${encode({ ...decode(header), cty: 'JWT' })}.${claims}.${signature}`,
    ],
    ['a signature of zeros', ({ header, claims }) => `${header}.${claims}.${'A'.repeat(86)}`],
    [
      'a signature of 63 bytes',
      ({ header, claims }) => `${header}.${claims}.${Buffer.alloc(63, 1).toString('base64url')}`,
    ],
    [
      'a signature of 65 bytes',
      ({ header, claims }) => `${header}.${claims}.${Buffer.alloc(65, 1).toString('base64url')}`,
    ],
    ['the signature of somebody else', (k) => forged(decode(k.header), k)],
    ['the address of the key inside', (k) => forged({ ...decode(k.header), jku: 'https://example.com/jwks.json' }, k)],
    ['a certificate inside', (k) => forged({ ...decode(k.header), x5c: ['MIIB'], x5u: 'https://example.com/x5c' }, k)],
    ['the key that verifies it inside', (k) => forged({ ...decode(k.header), jwk: stranger.jwk }, k)],
    ['an unknown key', (k) => forged({ ...decode(k.header), kid: 'stranger' }, k)],
    ['a key named like an object property', (k) => forged({ ...decode(k.header), kid: '__proto__' }, k)],
    ['a key that has no name', (k) => forged({ ...decode(k.header), kid: undefined }, k)],
    ['a key whose name is a number', (k) => forged({ ...decode(k.header), kid: 1 }, k)],
    ['a header that is no object', ({ claims, signature }) => `${encode([])}.${claims}.${signature}`],
    ['a header that is null', ({ claims, signature }) => `${encode(null)}.${claims}.${signature}`],
    ['a header that is no JSON', ({ claims, signature }) => `AAAA.${claims}.${signature}`],
    ['claims that are no JSON', ({ header, signature }) => `${header}.AAAA.${signature}`],
    ['8,000 characters', ({ header, claims, signature }) => `${header}.${claims}${'A'.repeat(8000)}.${signature}`],
  ])('is refused: %s', async (_, tokenFrom) => {
    const { status, headers, body } = await gatehouse.call('GET', '/api/account', { token: tokenFrom(known) });

    expect(status).toBe(401);
    expect(body).toMatchObject({ status: 401, path: '/api/account', message: 'error.http.401' });
    expect(headers['www-authenticate']).toBe('Bearer');
  });

  it.each<[string, (good: string) => Record<string, string | string[]>]>([
    ['no header', () => ({})],
    ['an empty header', () => ({ Authorization: '' })],
    ['no token', () => ({ Authorization: 'Bearer ' })],
    ['no scheme', (good) => ({ Authorization: good })],
    ['another scheme', (good) => ({ Authorization: `Basic ${good}` })],
    ['another scheme in front', (good) => ({ Authorization: `Basic x, Bearer ${good}` })],
    ['two spaces', (good) => ({ Authorization: `Bearer  ${good}` })],
    ['two headers', (good) => ({ Authorization: [`Bearer ${good}`, `Bearer ${good}`] })],
    ['a header of another name', (good) => ({ 'X-Forwarded-Authorization': `Bearer ${good}` })],
  ])('is refused, however good the token is: %s', async (_, headersFrom) => {
    const { header, claims, signature } = known;
    const good = `${header}.${claims}.${signature}`;

    const { status, body } = await gatehouse.call('GET', '/api/account', { headers: headersFrom(good) });

    expect(status).toBe(401);
    expect(body).toMatchObject({ status: 401, path: '/api/account', message: 'error.http.401' });
  });

  const OPEN = [
    'POST /api/authenticate',
    'GET /.well-known/jwks.json',
    'GET /api/health',
    'GET /management/info',
    'POST /api/account/reset-password/init',
    'POST /api/account/reset-password/finish',
  ];
  const closed = routes.filter(({ on }) => !OPEN.includes(on)).map(({ on }) => on.split(' ') as [string, string]);

  it.each(closed)('is refused before anything else is looked at: %s %s', async (method, path) => {
    const { status } = await gatehouse.call(method, path.replace('{id}', 'x').replace('{login}', 'x'), {
      body: method === 'GET' ? undefined : 'no JSON',
    });

    expect(status).toBe(401);
  });
});

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
