import { expect, it } from 'vitest';
import { recoverAdministrator } from '../../lib/operations/administrators/recover-administrator.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import type { User } from '../../lib/users/user.ts';
import { loginGuardKey } from '../../lib/users/user-items.ts';
import { memoryTable, recordsIn } from '../support/doubles/memory-table.ts';
import { storedUser } from '../support/doubles/stored-items.ts';
import { useFrozenClock } from '../support/doubles/time.ts';

/* How an operator lets an administrator in, whatever happens to the account at the same time. */

useFrozenClock(Date.parse('2026-03-10T12:00:00.000Z'));

const FACTOR = { nonce: 'n', key: 'k', lastStep: 5, recoveryNonce: 'r', recoveryCodes: 7 };
const ADMIN = storedUser(1, 'admin', {
  authorities: ['ROLE_ADMIN'],
  secondFactor: FACTOR,
  factorChanges: 1,
  passwordChanges: 4,
  sessionEndings: 2,
});
const key = entityKey('USER', 1);
const tableOf = (user: User) =>
  memoryTable([
    { ...key, ...user },
    { ...loginGuardKey('admin'), id: 1 },
  ]);

const FACTOR_ONLY = { removesFactor: true, hashPassword: undefined };
const hashes: string[] = [];
const hashPassword = async () => {
  hashes.push('new hash');
  return 'new hash';
};
const PASSWORD_ONLY = { removesFactor: false, hashPassword };
const BOTH = { removesFactor: true, hashPassword };

const { secondFactor: _, ...withoutFactor } = ADMIN;

const FACTOR_REMOVED = [
  'mail secondFactorChanged',
  'system first-admin secondFactor.removed user/1 admin',
];
const PASSWORD_RESET = ['mail passwordChanged', 'system first-admin password.reset user/1 admin'];
const NEW_PASSWORD = {
  passwordHash: 'new hash',
  passwordChanges: 5,
  securityStamp: expect.stringMatching(/^[\w-]{16}$/),
};
it.each<[string, Parameters<typeof recoverAdministrator>[2], object, string[]]>([
  ['the factor', FACTOR_ONLY, { ...withoutFactor, factorChanges: 2 }, FACTOR_REMOVED],
  ['the password', PASSWORD_ONLY, { ...ADMIN, ...NEW_PASSWORD }, PASSWORD_RESET],
  [
    'both',
    BOTH,
    { ...withoutFactor, ...NEW_PASSWORD, factorChanges: 2 },
    [...FACTOR_REMOVED, ...PASSWORD_RESET],
  ],
])('replaces %s and ends all sessions, with mails and audit entries', async (_, ...row) => {
  const [recovery, user, records] = row;
  const table = tableOf(ADMIN);

  const { outcome } = await recoverAdministrator(table, 'admin', recovery);

  expect(outcome).toBe('recovered');
  expect(table.find(key)).toEqual({ ...key, ...user, sessionEndings: 3 });
  expect(recordsIn(table)).toEqual(records);
  for (const item of Object.values(table.changed())) expect(item).not.toHaveProperty('changes');
});

it.each<[string, Partial<User>, Partial<User>]>([
  [
    'a log-in',
    {},
    { lastLogin: 'now', passwordHash: 'rehashed', secondFactor: { ...FACTOR, lastStep: 6 } },
  ],
  ['new recovery codes', {}, { secondFactor: { ...FACTOR, recoveryNonce: 's' }, factorChanges: 2 }],
  ['a new password', {}, { passwordHash: 'other', passwordChanges: 5 }],
])('removes and replaces what %s has just changed', async (_, before, meanwhile) => {
  const user = { ...ADMIN, ...before };
  const concurrent: User = { ...user, ...meanwhile };
  const table = tableOf(user);
  table.concurrent.push([put(key, { ...concurrent })]);
  hashes.length = 0;

  const { outcome } = await recoverAdministrator(table, 'admin', BOTH);

  const { factorChanges = 0, passwordChanges, sessionEndings = 0 } = concurrent;
  expect(outcome).toBe('recovered');
  expect(table.find(key)).toMatchObject({
    passwordHash: 'new hash',
    passwordChanges: passwordChanges + 1,
    factorChanges: factorChanges + 1,
    sessionEndings: sessionEndings + 1,
  });
  expect(table.find(key)).not.toHaveProperty('secondFactor');
  expect(hashes).toHaveLength(1);
});

it.each<[string, Partial<User>, string]>([
  ['demoted', { authorities: ['ROLE_USER'], version: '4-x' }, 'not-administrator'],
  ['deactivated', { activated: false, version: '4-x' }, 'not-administrator'],
  ['relieved of the factor', { secondFactor: undefined }, 'no-factor'],
])('leaves an account that has just been %s', async (_, meanwhile, expected) => {
  const table = tableOf(ADMIN);
  const after = { ...ADMIN, ...meanwhile };
  table.concurrent.push([put(key, after)]);

  const { outcome } = await recoverAdministrator(table, 'admin', FACTOR_ONLY);

  expect([outcome, table.transactions]).toEqual([expected, []]);
});

it('computes no hash for an account that it does not change', async () => {
  hashes.length = 0;

  await recoverAdministrator(tableOf({ ...ADMIN, activated: false }), 'admin', BOTH);
  await recoverAdministrator(tableOf({ ...ADMIN, secondFactor: undefined }), 'admin', BOTH);
  const unknown = await recoverAdministrator(tableOf(ADMIN), 'nobody', BOTH);

  expect([unknown, hashes]).toEqual([{ outcome: 'unknown-login' }, []]);
});
