import { createHash, createPublicKey, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const calls: string[] = [];
const gatehouse = await useGatehouse({
  intercept({ functionName, operation }, forward) {
    if (functionName === 'POST /api/authenticate') calls.push(operation);
    return forward();
  },
});

const authenticate = (username: unknown, password: unknown, more = {}) =>
  gatehouse.call('POST', '/api/authenticate', { body: { username, password, ...more } });

const partOf = (token: string, index: number) =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

async function setActivated(login: string, activated: boolean): Promise<void> {
  const token = await gatehouse.adminToken();
  const { body: user } = await gatehouse.call('GET', `/api/users/${login}`, { token });
  const { status } = await gatehouse.call('PUT', '/api/users', {
    token,
    body: { ...user, activated },
  });
  expect(status).toBe(200);
}

describe('POST /api/authenticate', () => {
  it('returns a token in the body and in the Authorization header', async () => {
    const { status, headers, body } = await authenticate('admin', 'admin');

    expect(status).toBe(200);
    expect(body).toEqual({ id_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]{86}$/) });
    expect(headers.authorization).toBe(`Bearer ${body.id_token}`);
    expect(headers['cache-control']).toBe('no-store');
    const { body: account } = await gatehouse.call('GET', '/api/account', { token: body.id_token });
    expect(account.login).toBe('admin');
  });

  it('issues a different token each time', async () => {
    const tokens = [await gatehouse.logIn('admin'), await gatehouse.logIn('admin')];

    const ids = tokens.map((token) => partOf(token, 1).jti);

    expect(new Set(ids).size).toBe(2);
  });

  it.each([
    ['an hour without rememberMe', {}, 3600],
    ['an hour with rememberMe false', { rememberMe: false }, 3600],
    ['an hour with rememberMe null', { rememberMe: null }, 3600],
    ['a day with rememberMe true', { rememberMe: true }, 86_400],
  ])('issues a token that is valid for %s', async (_, remember, seconds) => {
    const { body } = await authenticate('admin', 'admin', remember);

    const { iat, exp } = partOf(body.id_token, 1);
    expect(exp - iat).toBe(seconds);
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(5);
  });

  it.each([
    ['a missing username', { password: 'admin' }, 'username', 'NotNull'],
    ['null as the username', { username: null, password: 'admin' }, 'username', 'NotNull'],
    ['an empty username', { username: '', password: 'admin' }, 'username', 'NotBlank'],
    [
      'a username that is not a string',
      { username: { $ne: '' }, password: 'admin' },
      'username',
      'TypeMismatch',
    ],
    ['a missing password', { username: 'admin' }, 'password', 'NotNull'],
    ['null as the password', { username: 'admin', password: null }, 'password', 'NotNull'],
    [
      'a password that is not a string',
      { username: 'admin', password: 1234 },
      'password',
      'TypeMismatch',
    ],
    [
      'a rememberMe that is not a boolean',
      { username: 'admin', password: 'admin', rememberMe: 'yes' },
      'rememberMe',
      'TypeMismatch',
    ],
  ])('rejects %s with 400', async (_, sent, field, message) => {
    const { status, body } = await gatehouse.call('POST', '/api/authenticate', { body: sent });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'https://www.jhipster.tech/problem/constraint-violation',
      message: 'error.validation',
      path: '/api/authenticate',
    });
    expect(body.fieldErrors).toMatchObject([{ objectName: 'user', field, message }]);
  });

  it('accepts a password in NFC and in NFD, whichever of them was set', async () => {
    await gatehouse.makeUser('composed', { password: 'p\u00E4ssw\u00F6rd' });
    await gatehouse.makeUser('decomposed', { password: 'pa\u0308sswo\u0308rd' });

    const responses = [
      await authenticate('composed', 'pa\u0308sswo\u0308rd'),
      await authenticate('decomposed', 'p\u00E4ssw\u00F6rd'),
    ];

    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('accepts a user again after reactivation', async () => {
    await gatehouse.makeUser('returning');
    await setActivated('returning', false);
    const meanwhile = await authenticate('returning', 'returning');
    await setActivated('returning', true);

    const afterwards = await authenticate('returning', 'returning');

    expect([meanwhile.status, afterwards.status]).toEqual([401, 200]);
  });
});

describe('a rejected login', () => {
  let usualCalls: string[];
  beforeAll(async () => {
    await gatehouse.makeUser('sleeping');
    await gatehouse.makeUser('invited', { password: undefined });
    await gatehouse.makeUser('half', { password: 'a\uFFFDbcd' });
    await setActivated('sleeping', false);
    calls.length = 0;
    await authenticate('half', 'wrong');
    usualCalls = [...calls];
  });

  it.each([
    ['a wrong password', 'admin', 'wrong'],
    ['a password in another case', 'admin', 'ADMIN'],
    ['a password with a trailing space', 'admin', 'admin '],
    ['an empty password', 'admin', ''],
    ['a very long password', 'admin', 'x'.repeat(10_000)],
    ['an unknown login', 'nobody', 'admin'],
    ['an unknown login and an empty password', 'nobody', ''],
    ['a login in another case', 'Admin', 'admin'],
    ['a login with a trailing space', 'admin ', 'admin'],
    ['an e-mail address instead of a login', 'admin@example.com', 'admin'],
    ['a login that is too long', 'a'.repeat(51), 'admin'],
    ['a login of 10,000 characters', 'a'.repeat(10_000), 'admin'],
    ['a login with invalid characters', '__proto__/\u0000\uD800', 'admin'],
    ['a login that is a path segment', '.', 'admin'],
    ['a deactivated account', 'sleeping', 'sleeping'],
    ['a deactivated account and a wrong password', 'sleeping', 'wrong'],
    ['an account without a password and an empty password', 'invited', ''],
    ['an account without a password and some password', 'invited', 'invited'],
    ['a lone surrogate where the password has U+FFFD', 'half', 'a\uD800bcd'],
  ])(
    'has the same response and makes the same AWS calls as any other: %s',
    async (_, username, password) => {
      calls.length = 0;

      const { status, headers, body } = await authenticate(username, password);

      expect(status).toBe(401);
      expect(body).toEqual({
        type: 'https://www.jhipster.tech/problem/problem-with-message',
        title: 'Unauthorized',
        status: 401,
        detail: 'Bad credentials',
        path: '/api/authenticate',
        message: 'error.http.401',
      });
      expect(headers['www-authenticate']).toBe('Bearer');
      expect(headers).not.toHaveProperty('authorization');
      expect(calls).toEqual(usualCalls);
    },
  );
});

describe('GET /.well-known/jwks.json', () => {
  const publishedKeys = () => gatehouse.call('GET', '/.well-known/jwks.json');

  it('is public and can be cached for five minutes', async () => {
    const { status, headers } = await publishedKeys();

    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('public, max-age=300');
  });

  it('returns keys that verify a token with only the standard library', async () => {
    const token = await gatehouse.adminToken();
    const [header, claims, signature = ''] = token.split('.');

    const { body } = await publishedKeys();

    const { kid, alg, typ } = partOf(token, 0);
    expect({ alg, typ }).toEqual({ alg: 'ES256', typ: 'at+jwt' });
    const jwk = body.keys.find((key: { kid: string }) => key.kid === kid);
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const verifier = { key, dsaEncoding: 'ieee-p1363' as const };
    expect(
      verify(
        'sha256',
        Buffer.from(`${header}.${claims}`),
        verifier,
        Buffer.from(signature, 'base64url'),
      ),
    ).toBe(true);
  });

  it('identifies each key by its thumbprint (RFC 7638) and reveals no private part', async () => {
    await gatehouse.logIn('admin');

    const { body } = await publishedKeys();

    // The second key signs the tokens that the tests mint.
    expect(body.keys).toHaveLength(2);
    for (const { crv, kty, x, y, ...others } of body.keys) {
      const kid = createHash('sha256')
        .update(JSON.stringify({ crv, kty, x, y }))
        .digest('base64url');
      expect({ crv, kty, ...others }).toEqual({
        crv: 'P-256',
        kty: 'EC',
        kid,
        alg: 'ES256',
        use: 'sig',
      });
    }
  });
});

describe('GET /api/health', () => {
  it('is public and not cached', async () => {
    const { status, body, headers } = await gatehouse.call('GET', '/api/health');

    expect(status).toBe(200);
    expect(body).toEqual({ status: 'UP' });
    expect(headers['cache-control']).toBe('no-store');
  });
});
