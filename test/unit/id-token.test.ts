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

/* ID tokens of known providers, with the claims that the service reads. */

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
      preferred_username: ADDRESS.email,
      email: ADDRESS.email,
      xms_edov: 1,
      groups: ['f1b3d1a2-6c1e-4a0b-9a51-0e2f6f1d7c11'],
    },
    { login: ADDRESS.email, roles: ['ROLE_ADMIN'], address: ADDRESS.email, factor: false },
  ],
  [
    'Entra ID, with app roles',
    { groupsClaim: 'roles', secondFactor: 'always' },
    { preferred_username: ADDRESS.email, roles: ['admins'], hasgroups: true },
    { login: ADDRESS.email, roles: ['ROLE_ADMIN'], address: undefined, factor: true },
  ],
  [
    'Okta',
    {},
    {
      ...NAMES,
      ...ADDRESS,
      amr: ['mfa', 'otp', 'pwd'],
      preferred_username: ADDRESS.email,
      groups: ['Everyone', 'admins'],
    },
    { login: ADDRESS.email, roles: ['ROLE_ADMIN'], address: ADDRESS.email, factor: true },
  ],
  [
    'Keycloak, with a second factor that does not count',
    { secondFactor: 'never' },
    {
      ...NAMES,
      ...ADDRESS,
      azp: 'gatehouse',
      acr: '1',
      amr: ['mfa'],
      preferred_username: 'anna',
      groups: ['admins'],
    },
    { login: 'anna', roles: ['ROLE_ADMIN'], address: ADDRESS.email, factor: false },
  ],
  [
    'Amazon Cognito',
    { groupsClaim: 'cognito:groups', loginClaim: 'cognito:username' },
    { ...ADDRESS, 'cognito:username': 'anna', 'cognito:groups': ['admins'] },
    { login: 'anna', roles: ['ROLE_ADMIN'], address: ADDRESS.email, factor: false },
  ],
  [
    'Google, which knows neither groups nor logins',
    {},
    { ...NAMES, ...ADDRESS, azp: 'gatehouse' },
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
