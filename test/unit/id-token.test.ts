import { expect, it } from 'vitest';
import {
  hasSecondFactor,
  rolesBy,
  verifiedAddress,
  verifyIdToken,
} from '../../lib/identities/id-token.ts';
import {
  idToken,
  issuerAt,
  makeProviderKey,
  newCodeVerifier,
  nonceOf,
} from '../support/instance/provider.ts';

/* ID tokens with the claims of known providers, as their documentation states them. */

const { key, published } = makeProviderKey('key');
const ISSUER = issuerAt('https://login.example.com/company', {
  roles: { ROLE_ADMIN: ['admins', 'f1b3d1a2-6c1e-4a0b-9a51-0e2f6f1d7c11'] },
});
const NAMES = { given_name: 'Anna', family_name: 'Berg', name: 'Anna Berg' };
const ADDRESS = { email: 'anna@example.com', email_verified: true };

it.each<[string, Partial<typeof ISSUER>, object, object]>([
  [
    'Entra ID, with groups by their object ids',
    {},
    {
      ...NAMES,
      ver: '2.0',
      tid: 'a2f8c5d4-0b77-4f0e-8d1c-6b9f3e2a7d10',
      oid: '0f3a9c7e-55d2-4b19-9f0a-7c1d2e3f4a5b',
      sub: 'Jq3nVt5yZr8wLk2mXc7bPd4gHf6sAa9eUoTiYqWxRzE',
      preferred_username: 'anna@example.com',
      email: 'anna@example.com',
      xms_edov: 1,
      rh: '0.AX0A',
      uti: 'bQ2pW7sX3kGf5dVn8mLrAA',
      groups: ['f1b3d1a2-6c1e-4a0b-9a51-0e2f6f1d7c11'],
    },
    {
      login: 'anna@example.com',
      roles: ['ROLE_ADMIN'],
      address: 'anna@example.com',
      factor: false,
    },
  ],
  [
    'Entra ID, with app roles',
    { groupsClaim: 'roles', secondFactor: 'always' },
    {
      ver: '2.0',
      sub: 'x',
      preferred_username: 'anna@example.com',
      roles: ['admins'],
      hasgroups: true,
    },
    { login: 'anna@example.com', roles: ['ROLE_ADMIN'], address: undefined, factor: true },
  ],
  [
    'Okta',
    {},
    {
      ...NAMES,
      ...ADDRESS,
      ver: 1,
      sub: '00u1a2b3c4d5e6f7g8h9',
      idp: '00o1a2b3c4',
      amr: ['mfa', 'otp', 'pwd'],
      auth_time: 1_790_000_000,
      at_hash: 'c2lnbmF0dXJl',
      preferred_username: 'anna@example.com',
      groups: ['Everyone', 'admins'],
    },
    { login: 'anna@example.com', roles: ['ROLE_ADMIN'], address: ADDRESS.email, factor: true },
  ],
  [
    'Keycloak, with a second factor that does not count',
    { secondFactor: 'never' },
    {
      ...NAMES,
      ...ADDRESS,
      sub: '8d1c6b9f-3e2a-4d10-a2f8-c5d40b774f0e',
      typ: 'ID',
      azp: 'gatehouse',
      sid: '5f0c8c1e-3b0a-4a52-9d6c-2f1f0e7d9b11',
      acr: '1',
      amr: ['mfa'],
      at_hash: 'c2lnbmF0dXJl',
      preferred_username: 'anna',
      groups: ['admins'],
    },
    { login: 'anna', roles: ['ROLE_ADMIN'], address: ADDRESS.email, factor: false },
  ],
  [
    'Amazon Cognito',
    { groupsClaim: 'cognito:groups', loginClaim: 'cognito:username' },
    {
      ...ADDRESS,
      sub: '3e2a7d10-a2f8-45d4-8b77-4f0e8d1c6b9f',
      token_use: 'id',
      origin_jti: '0b774f0e',
      event_id: '7d10a2f8',
      auth_time: 1_790_000_000,
      'cognito:username': 'anna',
      'cognito:groups': ['admins'],
    },
    { login: 'anna', roles: ['ROLE_ADMIN'], address: ADDRESS.email, factor: false },
  ],
  [
    'Google, which knows neither groups nor logins',
    {},
    { ...NAMES, ...ADDRESS, sub: '110169484474386276334', azp: 'gatehouse', hd: 'example.com' },
    { login: undefined, roles: [], address: ADDRESS.email, factor: false },
  ],
])('the claims of %s are understood', (_, changes, stated, expected) => {
  const issuer = { ...ISSUER, ...changes };
  const codeVerifier = newCodeVerifier();
  const token = idToken({ issuer, key }, { nonce: nonceOf(codeVerifier), ...stated });

  const claims = verifyIdToken(token, issuer, [published], codeVerifier, Date.now());

  expect({
    login: claims[issuer.loginClaim],
    roles: rolesBy(claims, issuer),
    address: verifiedAddress(claims),
    factor: hasSecondFactor(claims, issuer),
  }).toEqual(expected);
});

it('the claims of Entra ID are refused without the groups, which it omits beyond 200', () => {
  const claims = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'x' } } };

  expect(() => rolesBy(claims, ISSUER)).toThrow('invalid-grant');
  expect(() => rolesBy({ hasgroups: true }, ISSUER)).toThrow('invalid-grant');
});
