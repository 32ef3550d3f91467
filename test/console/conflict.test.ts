import { expect, it } from 'vitest';
import { differences, merged, same, sameFields } from '../../console/conflict.ts';

const FIELDS = ['login', 'email', 'firstName', 'authorities'];
const base = { login: 'anna', email: 'a@example.com', firstName: null, authorities: ['ROLE_USER'] };
const mine = { ...base, email: 'mine@example.com', firstName: 'Anna' };
const theirs = { ...base, email: 'theirs@example.com', authorities: ['ROLE_ADMIN'] };

it('keeps the field that one side has changed, and mine where both have', () => {
  expect(differences(FIELDS, base, mine, theirs).map(({ field, keep }) => [field, keep])).toEqual([
    ['email', 'mine'],
    ['firstName', 'mine'],
    ['authorities', 'theirs'],
  ]);
});

it('has nothing to choose where both have changed the same', () => {
  expect(differences(FIELDS, base, mine, { ...mine, lastName: 'other' })).toEqual([]);
});

it('saves what was chosen', () => {
  const found = differences(FIELDS, base, mine, theirs);

  expect(merged(mine, found, {})).toEqual({ ...mine, authorities: ['ROLE_ADMIN'] });
  expect(merged(mine, found, { email: 'theirs', authorities: 'mine' })).toEqual({
    ...mine,
    email: 'theirs@example.com',
  });
});

it.each([
  [null, '', true],
  [undefined, null, true],
  ['a', 'b', false],
  [false, undefined, true],
  [true, undefined, false],
  [['a', 'b'], ['b', 'a'], true],
  [['a'], ['a', 'b'], false],
  [['a', 'a'], ['a', 'b'], false],
])('%j and %j are the same: %s', (one, other, expected) => {
  expect([same(one, other), same(other, one)]).toEqual([expected, expected]);
});

it('looks at the fields of the form only', () => {
  expect(sameFields(['login'], base, theirs)).toBe(true);
  expect(sameFields(['login', 'email'], base, theirs)).toBe(false);
});
