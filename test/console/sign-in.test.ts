import { expect, it } from 'vitest';
import { triedOf } from '../../console/preview.ts';
import { returnOf } from '../../console/sign-in.ts';

const begun = {
  issuer: 'https://login.example.com',
  state: 'state',
  codeVerifier: 'verifier',
  target: '/console/users',
};

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
