import { describe, expect, it } from 'vitest';
import {
  auditKey,
  auditPartition,
  canOwnParameters,
  elsewhereAttemptsKey,
  emailGuardKey,
  entityKey,
  importMarkerKey,
  integrationIdOf,
  loginGuardKey,
  mailCountKey,
  networkAttemptsKey,
  notBeforeKey,
  parameterId,
  parametersRange,
  permanentAuditKey,
  precedenceKey,
  publicKeyItemKey,
  readBudgetKey,
  resetItemKey,
  rosterKey,
  sequenceKey,
  sourceAttemptsKey,
  totalKey,
} from '../../lib/table/keys.ts';
import {
  add,
  attributesAre,
  changeTotal,
  check,
  claim,
  EXISTS,
  isAbsent,
  put,
  remove,
  set,
  versionIs,
  withCondition,
} from '../../lib/table/write.ts';
import { joinRoster, leaveRoster, membership } from '../../lib/users/administrators.ts';

const key = { pk: 'a', sk: 'b' };
const condition = {
  condition: '#x = :x',
  names: { '#x': 'x' },
  values: { ':x': 1 },
  onConditionFailed: 'retry',
} as const;

describe('a write', () => {
  it.each([
    [
      'claims an unused key',
      claim(key, { n: 1 }, 'login-taken'),
      {
        act: 'Put',
        key,
        attributes: { n: 1 },
        condition: 'attribute_not_exists(pk)',
        onConditionFailed: 'login-taken',
      },
    ],
    [
      'puts an item without a condition',
      put(key, { n: 1 }),
      { act: 'Put', key, attributes: { n: 1 } },
    ],
    [
      'removes an item under a condition',
      remove(key, condition),
      { ...condition, act: 'Delete', key },
    ],
    [
      'checks an item without changing it',
      check(key, condition),
      { ...condition, act: 'ConditionCheck', key },
    ],
    [
      'adds to a number',
      add(key, -3),
      {
        act: 'Update',
        key,
        update: 'ADD #n :amount',
        names: { '#n': 'n' },
        values: { ':amount': -3 },
      },
    ],
    [
      'changes a total and counts the change',
      changeTotal('CONF', -1),
      {
        act: 'Update',
        key: totalKey('CONF'),
        update: 'ADD #n :amount, #changes :one',
        names: { '#n': 'n', '#changes': 'changes' },
        values: { ':amount': -1, ':one': 1 },
      },
    ],
    [
      'sets attributes and removes those without a value',
      set(key, { a: 1, b: undefined, c: null, d: undefined }, condition),
      {
        act: 'Update',
        key,
        onConditionFailed: 'retry',
        condition: '#x = :x',
        update: 'SET #set0 = :set0, #set2 = :set2 REMOVE #set1, #set3',
        names: { '#x': 'x', '#set0': 'a', '#set1': 'b', '#set2': 'c', '#set3': 'd' },
        values: { ':x': 1, ':set0': 1, ':set2': null },
      },
    ],
    [
      'only sets',
      set(key, { a: 0 }, condition),
      {
        act: 'Update',
        key,
        onConditionFailed: 'retry',
        condition: '#x = :x',
        update: 'SET #set0 = :set0',
        names: { '#x': 'x', '#set0': 'a' },
        values: { ':x': 1, ':set0': 0 },
      },
    ],
    [
      'only removes',
      set(key, { a: undefined }, { condition: 'c', onConditionFailed: 'retry' }),
      {
        act: 'Update',
        key,
        onConditionFailed: 'retry',
        condition: 'c',
        update: 'REMOVE #set0',
        names: { '#set0': 'a' },
        values: {},
      },
    ],
  ])('%s', (_, write, expected) => {
    expect(write).toEqual(expected);
  });

  it('combines a further condition with its own and keeps the meaning of its failure', () => {
    const first = claim(key, {}, 'login-taken');
    const further = {
      condition: 'a = :y OR b = :y',
      names: { '#y': 'y' },
      values: { ':y': 2 },
      onConditionFailed: 'retry',
    } as const;

    expect(withCondition(first, further)).toEqual({
      ...first,
      condition: '(attribute_not_exists(pk)) AND (a = :y OR b = :y)',
      names: { '#y': 'y' },
      values: { ':y': 2 },
    });
    expect(withCondition({ ...add(key, 1), ...condition }, further)).toMatchObject({
      condition: '(#x = :x) AND (a = :y OR b = :y)',
      names: { '#x': 'x', '#y': 'y' },
      values: { ':x': 1, ':y': 2 },
    });
    expect(withCondition(add(key, 1), further)).toEqual({
      ...add(key, 1),
      condition: 'a = :y OR b = :y',
      names: { '#n': 'n', '#y': 'y' },
      values: { ':amount': 1, ':y': 2 },
      onConditionFailed: 'retry',
    });
  });

  it('can require values that were read, and the absence of others', () => {
    expect(attributesAre({ n: 0, since: 5, changes: undefined })).toEqual({
      condition: '#n = :n AND #since = :since AND attribute_not_exists(#changes)',
      names: { '#n': 'n', '#since': 'since', '#changes': 'changes' },
      values: { ':n': 0, ':since': 5 },
      onConditionFailed: 'retry',
    });
  });

  it('can require that the item exists or is absent', () => {
    expect(EXISTS).toEqual({ condition: 'attribute_exists(pk)', onConditionFailed: 'retry' });
    expect(isAbsent()).toEqual({
      condition: 'attribute_not_exists(pk)',
      onConditionFailed: 'retry',
    });
    expect(isAbsent('email-taken')).toEqual({
      condition: 'attribute_not_exists(pk)',
      onConditionFailed: 'email-taken',
    });
  });

  it('can require the version that was read', () => {
    expect(versionIs({ version: '3-abc' })).toEqual({
      condition: '#version = :version',
      names: { '#version': 'version' },
      values: { ':version': '3-abc' },
      onConditionFailed: 'retry',
    });
  });
});

describe('the roster of administrators', () => {
  const admin = { id: 7, activated: true, authorities: ['ROLE_USER', 'ROLE_ADMIN'] } as never;
  const deactivated = { id: 7, activated: false, authorities: ['ROLE_ADMIN'] } as never;
  const user = { id: 7, activated: true, authorities: ['ROLE_USER', 'ROLE_ANALYST'] } as never;

  it('is left only while another administrator remains', () => {
    expect(leaveRoster(7)).toEqual({
      act: 'Update',
      key: rosterKey,
      update: 'DELETE #ids :set',
      condition: 'contains(#ids, :id) AND size(#ids) > :one',
      names: { '#ids': 'ids' },
      values: { ':set': new Set([7]), ':id': 7, ':one': 1 },
      onConditionFailed: 'last-administrator',
    });
  });

  it('is joined without a condition', () => {
    expect(joinRoster(7)).toEqual({
      act: 'Update',
      key: rosterKey,
      update: 'ADD #ids :set',
      names: { '#ids': 'ids' },
      values: { ':set': new Set([7]) },
    });
  });

  it.each([
    ['created as an administrator', undefined, admin, [joinRoster(7)]],
    ['created deactivated', undefined, deactivated, []],
    ['created as a user', undefined, user, []],
    ['promoted', user, admin, [joinRoster(7)]],
    ['activated again', deactivated, admin, [joinRoster(7)]],
    ['changed in another way', admin, admin, []],
    ['demoted', admin, user, [leaveRoster(7)]],
    ['deactivated', admin, deactivated, [leaveRoster(7)]],
    ['deleted', admin, undefined, [leaveRoster(7)]],
    ['deleted when deactivated', deactivated, undefined, []],
    ['deleted as a user', user, undefined, []],
  ])('is updated as required for a user who is %s', (_, before, after, writes) => {
    expect(membership(before, after)).toEqual(writes);
  });
});

describe('the keys of the table', () => {
  const ID = '0000000000000007';

  it.each([
    ['a user', entityKey('USER', 7), 'USER', ID],
    ['the largest id', entityKey('CONF', Number.MAX_SAFE_INTEGER), 'CONF', '9007199254740991'],
    ['a login guard', loginGuardKey('ada'), 'LOGIN#ada', 'GUARD'],
    ['an email guard', emailGuardKey('ada@b.c'), 'EMAIL#ada@b.c', 'GUARD'],
    ['the roster', rosterKey, 'ADMINS', 'ROSTER'],
    ['a sequence', sequenceKey('USER'), 'SEQUENCE', 'USER'],
    ['a total', totalKey('INTEGRATION'), 'TOTAL', 'INTEGRATION'],
    ['a reset key', resetItemKey('abc'), 'RESET#abc', 'RESET'],
    ['an import marker', importMarkerKey('USER', 'abc'), 'IMPORTED#abc', 'USER'],
    ['a read budget', readBudgetKey(7), `READS#${ID}`, 'BUDGET'],
    ['a precedence', precedenceKey(7), `PRECEDENCE#${ID}`, 'PRECEDENCE'],
    ['a mail count', mailCountKey(7, 'reset'), `MAILS#${ID}`, 'reset'],
    [
      'an audit entry',
      auditKey('2030-02-03T04:05:06.007Z', 'x'),
      'AUDIT#2030-02',
      '2030-02-03T04:05:06.007Z#x',
    ],
    [
      'a permanent audit entry',
      permanentAuditKey('2030-02-03T04:05:06.007Z', 'x'),
      'AUDIT#PERMANENT',
      '2030-02-03T04:05:06.007Z#x',
    ],
    ['attempts in a known network', networkAttemptsKey('l', 'n'), 'ATTEMPTS#l', 'NETWORK#n'],
    ['attempts elsewhere', elsewhereAttemptsKey('l'), 'ATTEMPTS#l', 'ELSEWHERE'],
    ['requests of a source', sourceAttemptsKey('s'), 'ATTEMPTS#s', 'SOURCE'],
    ['a signing key', publicKeyItemKey('kid'), 'JWKS', 'kid'],
    ['the oldest valid token', notBeforeKey, 'JWKS', 'NOT-BEFORE'],
  ])('identify %s', (_, { pk, sk }, expectedPk, expectedSk) => {
    expect([pk, sk]).toEqual([expectedPk, expectedSk]);
  });

  it('partition the audit trail by month', () => {
    expect(auditPartition('2030-02')).toBe('AUDIT#2030-02');
  });

  it('reserve a range of a million parameter ids for each integration', () => {
    expect([parameterId(7, 1), parameterId(7, 999_999)]).toEqual([7_000_001, 7_999_999]);
    expect(parametersRange(7)).toEqual({ from: '0000000007000000', to: '0000000007999999' });
    expect([7_000_000, 7_000_001, 7_999_999, 8_000_000].map(integrationIdOf)).toEqual([7, 7, 7, 8]);
  });

  it('allow parameters only where their ids are safe integers', () => {
    // The largest safe integer is 9,007,199,254,740,991.
    expect([-1, 0, 1, 9_007_199_253, 9_007_199_254].map(canOwnParameters)).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
  });
});
