import { expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { decode, encode } from '../support/instance/mint.ts';

/* How a bad token is answered; test/unit/token-claims.test.ts has every kind of bad token. */

const gatehouse = await useGatehouse();

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
  ['a token without a signature', (valid) => bearer(valid.replace(/\.[^.]+$/, ''))],
  ['an unsigned token', (valid) => bearer(`${encode({ alg: 'none' })}.${valid.split('.')[1]}.`)],
  [
    'a token with other claims',
    (valid) => {
      const [header, claims, signature] = valid.split('.');
      return bearer(`${header}.${encode({ ...decode(claims), sub: '2' })}.${signature}`);
    },
  ],
  ['a token of 8,000 characters', (valid) => bearer(valid.replace('.', `.${'A'.repeat(8000)}`))],
])('rejects a request with 401 that has %s', async (_, headersFrom) => {
  const { status, headers, body } = await gatehouse.call('GET', '/api/account', {
    headers: headersFrom(await gatehouse.adminToken()),
  });

  expect([status, headers['www-authenticate']]).toEqual([401, expect.stringMatching(/^Bearer/)]);
  expect(body).toMatchObject({ status: 401, path: '/api/account', message: 'error.http.401' });
});
