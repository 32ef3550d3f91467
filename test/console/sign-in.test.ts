import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { triedOf } from '../../console/preview.ts';
import { authorizationUrl, randomText, returnOf } from '../../console/sign-in.ts';

const issuer = {
  issuer: 'https://login.example.com',
  name: 'Company account',
  clientId: 'gatehouse',
  authorizationEndpoint: 'https://login.example.com/authorize',
  tokenEndpoint: 'https://login.example.com/token',
  passwords: true,
};
const begun = {
  issuer: issuer.issuer,
  state: 'state',
  codeVerifier: randomText(),
  target: '/console/users',
};

it('asks for a code with the challenge of the verifier, which is the nonce as well', async () => {
  const url = new URL(await authorizationUrl(issuer, begun, 'https://gate.example.com'));
  const challenge = createHash('sha256').update(begun.codeVerifier).digest('base64url');

  expect(begun.codeVerifier).toMatch(/^[\w-]{43}$/);
  expect(`${url.origin}${url.pathname}`).toBe(issuer.authorizationEndpoint);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    response_type: 'code',
    client_id: 'gatehouse',
    redirect_uri: 'https://gate.example.com/console/sign-in',
    scope: 'openid profile email',
    state: 'state',
    nonce: challenge,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
});

it.each([
  ['?code=c&state=state', { code: 'c' }],
  ['?code=c&state=state&iss=https%3A%2F%2Flogin.example.com', { code: 'c' }],
  [
    '?code=c&state=state&iss=https%3A%2F%2Fother.example.com',
    { other: 'https://other.example.com' },
  ],
  ['?code=c&state=other', undefined],
  ['?code=c', undefined],
  ['?state=state', undefined],
  ['', undefined],
  ['?error=access_denied&state=state', { error: 'access_denied', description: null }],
  ['?error=access_denied&state=other', undefined],
  ['?error=server_error&state=state', { error: 'server_error', description: null }],
  ['?error=x&error_description=why&state=state', { error: 'x', description: 'why' }],
])('a return with %j is %j', (search, returned) => {
  expect(returnOf(search, begun)).toEqual(returned);
  expect(returnOf(search, undefined)).toBeUndefined();
});

const TOKEN = `e30.${Buffer.from('{"sub":"ä"}').toString('base64url')}.c2ln`;

it.each([
  [' {"sub": "x", "groups": ["a"]}\n', { claims: { sub: 'x', groups: ['a'] } }],
  [TOKEN, { claims: { sub: 'ä' } }],
  ['["a b", "c"]', { groups: ['a b', 'c'] }],
  ['a b\n\n CN=c,OU=d \n', { groups: ['a b', 'CN=c,OU=d'] }],
  ['', { groups: [] }],
  ['{"sub": "x"', undefined],
  ['["a", 1]', undefined],
  ['"a"', undefined],
  ['e30.bm8.c2ln', undefined],
])('of %j, a log-in is tried with %j', (text, tried) => {
  expect(triedOf(text)).toEqual(tried);
});
