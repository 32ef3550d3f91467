import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  hasSecondFactor,
  rolesBy,
  verifiedAddress,
  verifyIdToken,
} from '../../lib/identities/id-token.ts';
import { claim } from '../../lib/table/write.ts';
import { assertionUsed, readAssertion, verifyAssertion } from '../../lib/tokens/assertion.ts';
import { freezeClock } from '../support/doubles/time.ts';
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

const SECOND = Date.UTC(2030, 0, 1) / 1000;

it.each<[string, Record<string, unknown>, string]>([
  ['for another audience as well', { aud: ['gatehouse', 'other'] }, 'audience'],
  ['issued in a minute', { iat: SECOND + 60 }, 'nothing'],
  ['issued in 61 seconds', { iat: SECOND + 61 }, 'age'],
  ['issued six minutes ago', { iat: SECOND - 360 }, 'nothing'],
  ['issued 361 seconds ago', { iat: SECOND - 361 }, 'age'],
  ['without its time of issue', { iat: undefined }, 'age'],
  ['that does not expire', { exp: undefined }, 'age'],
])('a token %s is judged to the second', (_, claims, expected) => {
  freezeClock(SECOND * 1000);
  const { issuer, clientId: audience, algorithms } = ISSUER;
  const token = idToken({ issuer: ISSUER, key }, claims, { typ: 'jwt' });
  const verify = () =>
    verifyAssertion(token, { issuer, audience, algorithms }, [published], SECOND * 1000);

  if (expected === 'nothing') expect(verify()).toMatchObject(claims);
  else expect(verify).toThrow(expect.objectContaining({ reason: expected }));
});

it('a token is used up by what is signed, until it cannot be accepted any more', () => {
  const token = idToken({ issuer: ISSUER, key }, { sub: 'anna' });
  const hash = createHash('sha256').update(token.replace(/\.[^.]*$/, ''));

  expect(assertionUsed(readAssertion(token), SECOND * 1000 - 1)).toEqual(
    claim(
      { pk: `ASSERTION#${hash.digest('hex')}`, sk: 'USED' },
      { expires: SECOND + 420 },
      'invalid-grant',
    ),
  );
});
