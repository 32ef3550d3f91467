import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { health } from '../../lib/operations/status/health.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { awsError } from '../support/doubles/aws-calls.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { encode } from '../support/instance/mint.ts';
import { openSetup } from '../support/instance/setup.ts';

const gatehouse = await useGatehouse();

const authenticate = (username: unknown, password: unknown, more = {}) =>
  gatehouse.call('POST', '/api/authenticate', { body: { username, password, ...more } });

const partOf = (token: string, index: number) =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

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

  it.each([
    ['an hour without rememberMe', {}, 3600],
    ['an hour with rememberMe null', { rememberMe: null }, 3600],
    ['a day with rememberMe true', { rememberMe: true }, 86_400],
  ])('issues a token that is valid for %s', async (_, remember, seconds) => {
    const { body } = await authenticate('admin', 'admin', remember);

    const { iat, exp, ...claims } = partOf(body.id_token, 1);
    expect(claims).toEqual({
      iss: 'gatehouse-dev',
      aud: 'gatehouse',
      sub: '1',
      jti: expect.stringMatching(/^[\w-]{16,}$/),
      preferred_username: 'admin',
      roles: ['ROLE_ADMIN', 'ROLE_USER'],
    });
    expect(exp - iat).toBe(seconds);
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(5);
  });

  it.each([
    ['an empty username', { username: '', password: 'admin' }, 'username', 'NotBlank'],
    [
      'an operator as username',
      { username: { $ne: '' }, password: '' },
      'username',
      'TypeMismatch',
    ],
    ['a number as password', { username: 'admin', password: 12 }, 'password', 'TypeMismatch'],
    [
      'a text as rememberMe',
      { username: 'admin', password: 'admin', rememberMe: 'yes' },
      'rememberMe',
      'TypeMismatch',
    ],
  ])('rejects %s with 400', async (_, sent, field, message) => {
    const { status, body } = await gatehouse.call('POST', '/api/authenticate', { body: sent });

    expect([status, body.fieldErrors]).toMatchObject([
      400,
      [{ objectName: 'user', field, message }],
    ]);
  });
});

describe('GET /.well-known/jwks.json', () => {
  const publishedKeys = () => gatehouse.call('GET', '/.well-known/jwks.json');

  it('returns keys that verify a token with only the standard library', async () => {
    const token = await gatehouse.adminToken();
    const [header, claims, signature = ''] = token.split('.');

    const { body, headers: published } = await publishedKeys();

    expect(published['cache-control']).toBe('public, max-age=300');
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

  it('has no private part', async () => {
    const { body } = await publishedKeys();

    // The second key signs the tokens that the tests mint.
    const names = ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'];
    expect(body.keys.map((key: object) => Object.keys(key).sort())).toEqual([names, names]);
  });
});

describe('GET /api/health', () => {
  it('is public, even with an invalid token, and not cached', async () => {
    const { status, body, headers } = await gatehouse.call('GET', '/api/health', {
      token: 'nonsense',
    });

    expect(status).toBe(200);
    expect(body).toEqual({ status: 'UP' });
    expect(headers['cache-control']).toBe('no-store');
  });

  it('is unavailable without a table, and fails as reads of it do', async () => {
    const healthWith = (error: Error) =>
      health({ ...memoryTable(), get: () => Promise.reject(error) });
    const [absent, denied] = [awsError('ResourceNotFoundException'), awsError('AccessDenied')];

    await expect(healthWith(absent)).rejects.toMatchObject({ code: 'unavailable', cause: absent });
    await expect(healthWith(denied)).rejects.toBe(denied);
  });
});

/* How a bad token is answered; test/unit/verify-token.test.ts has every kind of bad token. */

type Headers = Record<string, string | string[]>;
const bearer = (token: string): Headers => ({ Authorization: `Bearer ${token}` });

it.each<[string, (valid: string) => Headers]>([
  ['no header', () => ({})],
  ['an empty header', () => ({ Authorization: '' })],
  ['no token', () => bearer('')],
  ['no scheme', (valid) => ({ Authorization: valid })],
  ['another scheme', (valid) => ({ Authorization: `Basic ${valid}` })],
  ['another scheme first', (valid) => ({ Authorization: `Basic x, Bearer ${valid}` })],
  ['two spaces', (valid) => bearer(` ${valid}`)],
  ['two headers', (valid) => ({ Authorization: [`Bearer ${valid}`, `Bearer ${valid}`] })],
  ['a header of another name', (valid) => ({ 'X-Forwarded-Authorization': `Bearer ${valid}` })],
  ['an unsigned token', (valid) => bearer(`${encode({ alg: 'none' })}.${valid.split('.')[1]}.`)],
  ['a token of 8,000 characters', (valid) => bearer(valid.replace('.', `.${'A'.repeat(8000)}`))],
])('rejects a request with 401 that has %s', async (_, headersFrom) => {
  const sent = headersFrom(await gatehouse.adminToken());
  const { status, headers, body } = await gatehouse.call('GET', '/api/account', { headers: sent });

  const challenge = sent.Authorization ? 'Bearer error="invalid_token"' : 'Bearer';
  expect([status, headers['www-authenticate']]).toEqual([401, challenge]);
  expect(body).toMatchObject({ status: 401, path: '/api/account', message: 'error.http.401' });
});

it('a login rehashes a password stored at a lower cost, and records its time', async () => {
  const setup = await openSetup(gatehouse);
  const { user, token } = await setup.account({ passwordHash: await setup.outdatedHash() });
  const stored = () => gatehouse.table.get(entityKey('USER', user.id));
  const before = await stored();

  await gatehouse.logIn(user.login, 'pass');
  const renewed = await stored();
  await gatehouse.logIn(user.login, 'pass');

  expect(renewed?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1,/);
  const { passwordHash, lastLogin, latestSession } = (renewed ?? {}) as Record<string, unknown>;
  expect(renewed).toEqual({ ...before, passwordHash, lastLogin, latestSession });
  expect((await stored())?.passwordHash).toBe(passwordHash);
  const change = await gatehouse.call('POST', '/api/account', {
    token,
    body: { firstName: 'Still' },
  });
  expect(change.status).toBe(200);
});
