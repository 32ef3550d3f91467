import { createHmac, createPublicKey } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../routes.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { methodAndPath } from '../support/instance/method-and-path.ts';
import { decode, encode, es256, makeSigningKeyPair, type Part } from '../support/instance/mint.ts';

describe('authentication', async () => {
  const gatehouse = await useGatehouse();

  /** The three parts of a valid token, and the public key that verifies it. */
  interface Known {
    readonly header: string;
    readonly claims: string;
    readonly signature: string;
    readonly published: Part & { kid: string };
  }
  let known: Known;
  beforeAll(async () => {
    const [header = '', claims = '', signature = ''] = (await gatehouse.adminToken()).split('.');
    const { body } = await gatehouse.call('GET', '/.well-known/jwks.json');
    known = { header, claims, signature, published: body.keys[0] };
  });
  const stranger = makeSigningKeyPair('stranger');

  /** A token with this header, signed with a key that the service has not published. */
  function forged(header: Part, { claims }: Known): string {
    const input = `${encode(header)}.${claims}`;
    return `${input}.${es256(input, stranger.privateKey)}`;
  }

  /**
   * A token whose HMAC uses the public key as the secret: an algorithm confusion attack (RFC 8725,
   * section 2.1).
   */
  function hmac(secret: string | Buffer, { claims, published: { kid } }: Known): string {
    const input = `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${claims}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  }
  const spki = ({ published }: Known) => createPublicKey({ key: published, format: 'jwk' });

  it.each<[string, (known: Known) => string]>([
    ['no signature', ({ header, claims }) => `${header}.${claims}`],
    ['an empty signature', ({ header, claims }) => `${header}.${claims}.`],
    [
      'four parts',
      ({ header, claims, signature }) => `${header}.${claims}.${signature}.${signature}`,
    ],
    ['alg none', ({ claims }) => `${encode({ alg: 'none', typ: 'at+jwt' })}.${claims}.`],
    [
      'alg none and a signature',
      ({ claims, signature }) => `${encode({ alg: 'none' })}.${claims}.${signature}`,
    ],
    [
      'an HMAC under the public key as PEM',
      (k) => hmac(spki(k).export({ type: 'spki', format: 'pem' }), k),
    ],
    [
      'an HMAC under the public key as DER',
      (k) => hmac(spki(k).export({ type: 'spki', format: 'der' }), k),
    ],
    [
      'other claims',
      ({ header, claims, signature }) =>
        `${header}.${encode({ ...decode(claims), sub: '2' })}.${signature}`,
    ],
    [
      'another header',
      ({ header, claims, signature }) =>
        `${encode({ ...decode(header), cty: 'JWT' })}.${claims}.${signature}`,
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
    ['a signature by another key', (k) => forged(decode(k.header), k)],
    [
      'a key URL in the header',
      (k) => forged({ ...decode(k.header), jku: 'https://example.com/jwks.json' }, k),
    ],
    [
      'a certificate in the header',
      (k) => forged({ ...decode(k.header), x5c: ['MIIB'], x5u: 'https://example.com/x5c' }, k),
    ],
    [
      'its own verification key in the header',
      (k) => forged({ ...decode(k.header), jwk: stranger.jwk }, k),
    ],
    ['an unknown key', (k) => forged({ ...decode(k.header), kid: 'stranger' }, k)],
    [
      'a key id that is an object property',
      (k) => forged({ ...decode(k.header), kid: '__proto__' }, k),
    ],
    ['no key id', (k) => forged({ ...decode(k.header), kid: undefined }, k)],
    ['a key id that is a number', (k) => forged({ ...decode(k.header), kid: 1 }, k)],
    [
      'a header that is not an object',
      ({ claims, signature }) => `${encode([])}.${claims}.${signature}`,
    ],
    ['a header that is null', ({ claims, signature }) => `${encode(null)}.${claims}.${signature}`],
    ['a header that is not JSON', ({ claims, signature }) => `AAAA.${claims}.${signature}`],
    ['claims that are not JSON', ({ header, signature }) => `${header}.AAAA.${signature}`],
    [
      '8,000 characters',
      ({ header, claims, signature }) => `${header}.${claims}${'A'.repeat(8000)}.${signature}`,
    ],
  ])('rejects a token with 401 that has %s', async (_, tokenFrom) => {
    const { status, headers, body } = await gatehouse.call('GET', '/api/account', {
      token: tokenFrom(known),
    });

    expect(status).toBe(401);
    expect(body).toMatchObject({ status: 401, path: '/api/account', message: 'error.http.401' });
    expect(headers['www-authenticate']).toBe('Bearer');
  });

  it.each<[string, (valid: string) => Record<string, string | string[]>]>([
    ['no header', () => ({})],
    ['an empty header', () => ({ Authorization: '' })],
    ['no token', () => ({ Authorization: 'Bearer ' })],
    ['no scheme', (valid) => ({ Authorization: valid })],
    ['another scheme', (valid) => ({ Authorization: `Basic ${valid}` })],
    ['another scheme first', (valid) => ({ Authorization: `Basic x, Bearer ${valid}` })],
    ['two spaces', (valid) => ({ Authorization: `Bearer  ${valid}` })],
    ['two headers', (valid) => ({ Authorization: [`Bearer ${valid}`, `Bearer ${valid}`] })],
    ['a header of another name', (valid) => ({ 'X-Forwarded-Authorization': `Bearer ${valid}` })],
  ])('rejects a valid token with 401 when the request has %s', async (_, headersFrom) => {
    const { header, claims, signature } = known;
    const valid = `${header}.${claims}.${signature}`;

    const { status, body } = await gatehouse.call('GET', '/api/account', {
      headers: headersFrom(valid),
    });

    expect(status).toBe(401);
    expect(body).toMatchObject({ status: 401, path: '/api/account', message: 'error.http.401' });
  });

  const protectedRoutes = routes
    .filter(({ contract }) => contract.access !== 'public')
    .map(({ route }) => methodAndPath(route, { login: 'x', id: 'x' }));

  it.each(protectedRoutes)(
    'rejects a request without a token with 401 before any other check: %s %s',
    async (method, path) => {
      const { status } = await gatehouse.call(method, path, {
        body: method === 'GET' ? undefined : 'no JSON',
      });

      expect(status).toBe(401);
    },
  );
});
