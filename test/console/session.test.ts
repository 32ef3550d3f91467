import { expect, it } from 'vitest';
import { claimsOf, mustEnrol, storedToken, storeToken } from '../../console/session.ts';

const tokenOf = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;

it('reads login, environment and session of a token, also beyond ASCII', () => {
  const claims = { iss: 'gatehouse-prod-eu', preferred_username: 'ann~ä' };

  expect(claimsOf(tokenOf(claims))).toEqual({
    login: 'ann~ä',
    environment: 'prod-eu',
  });
});

it.each(['', 'x', 'a.b.c', 'a.e30'])('has no login for the token %j', (token) => {
  expect(claimsOf(token)?.login ?? 'undefined').toBe('undefined');
});

it('keeps the token until it is removed', () => {
  const items = new Map<string, string>();
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  };

  storeToken(storage, 'a');
  expect(storedToken(storage)).toBe('a');
  storeToken(storage, undefined);
  expect([storedToken(storage), items.size]).toEqual([undefined, 0]);
});

it.each([
  [{ secondFactor: false, secondFactorRequiredFrom: '2027-01-15' }, true],
  [{ secondFactor: false, secondFactorRequiredFrom: '2027-01-16' }, false],
  [{ secondFactor: true, secondFactorRequiredFrom: '2027-01-15' }, false],
  [{ secondFactor: false, secondFactorRequiredFrom: null }, false],
])('on 2027-01-15, %j must enrol: %s', (account, expected) => {
  expect(mustEnrol(account, new Date('2027-01-15T00:00:00Z'))).toBe(expected);
});
