import { createHmac, createPublicKey } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../routes.ts';
import { useGatehouse } from './support/gatehouse.ts';
import { decode, encode, es256, makeKey, type Part } from './support/mint.ts';

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
  const closed = routes
    .filter(({ route }) => !OPEN.includes(route))
    .map(({ route }) => route.split(' ') as [string, string]);

  it.each(closed)('is refused before anything else is looked at: %s %s', async (method, path) => {
    const { status } = await gatehouse.call(method, path.replace('{id}', 'x').replace('{login}', 'x'), {
      body: method === 'GET' ? undefined : 'no JSON',
    });

    expect(status).toBe(401);
  });
});
