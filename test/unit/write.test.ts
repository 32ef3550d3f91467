import { describe, expect, it } from 'vitest';
import { auditKey, auditPartition, permanentAuditKey } from '../../lib/audit/audit-item.ts';
import { mailboxResetsKey, mailCountKey } from '../../lib/mail/mail-items.ts';
import { importMarkerKey } from '../../lib/operations/import-marker.ts';
import {
  canOwnParameters,
  entityKey,
  integrationIdOf,
  parameterId,
  parametersRange,
} from '../../lib/table/keys.ts';
import { sequenceKey, totalKey } from '../../lib/table/table-items.ts';
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
import {
  elsewhereAttemptsKey,
  networkAttemptsKey,
  sourceAttemptsKey,
} from '../../lib/throttle/attempt-items.ts';
import { notBeforeKey, publicKeyItemKey } from '../../lib/tokens/key-items.ts';
import { joinRoster, leaveRoster, membership } from '../../lib/users/administrators.ts';
import {
  emailGuardKey,
  loginGuardKey,
  pendingEmailKey,
  resetItemKey,
  rosterKey,
} from '../../lib/users/user-items.ts';

const key = { pk: 'a', sk: 'b' };
const condition = {
  condition: '#x = :x',
  names: { '#x': 'x' },
  values: { ':x': 1 },
  onConditionFailed: 'retry',
} as const;

describe('a write', () => {
  const further = {
    condition: 'a = :y OR b = :y',
    names: { '#y': 'y' },
    values: { ':y': 2 },
    onConditionFailed: 'retry',
  } as const;

  it.each([
    ['claims an unused key', claim(key, { n: 1 }, 'login-taken')],
    ['puts an item without a condition', put(key, { n: 1 })],
    ['removes an item under a condition', remove(key, condition)],
    ['checks an item without changing it', check(key, condition)],
    ['adds to a number', add(key, -3)],
    ['changes a total and counts the change', changeTotal('CONF', -1)],
    [
      'sets attributes and removes those without a value',
      set(key, { a: 1, b: undefined, c: null, d: undefined }, condition),
    ],
    ['only sets', set(key, { a: 0 }, condition)],
    ['only removes', set(key, { a: undefined }, { condition: 'c', onConditionFailed: 'retry' })],
    [
      'keeps the meaning of its own failure under a further condition',
      withCondition(claim(key, {}, 'login-taken'), further),
    ],
    ['requires both conditions', withCondition({ ...add(key, 1), ...condition }, further)],
    ['has a further condition as its only one', withCondition(add(key, 1), further)],
  ])('%s', (_, write) => {
    expect(write).toMatchSnapshot();
  });

  it('can require values that were read, and the absence of others', () => {
    expect(attributesAre({ n: 0, since: 5, changes: undefined })).toEqual({
      condition: '#n = :n AND #since = :since AND attribute_not_exists(#changes)',
      names: { '#n': 'n', '#since': 'since', '#changes': 'changes' },
      values: { ':n': 0, ':since': 5 },
      onConditionFailed: 'retry',
    });
  });

  it('can require that the item exists, is absent or has the version that was read', () => {
    expect([
      EXISTS,
      isAbsent(),
      isAbsent('email-taken'),
      versionIs({ version: '3-abc' }),
    ]).toMatchSnapshot();
  });
});

describe('the roster of administrators', () => {
  const admin = { id: 7, activated: true, authorities: ['ROLE_USER', 'ROLE_ADMIN'] } as never;
  const deactivated = { id: 7, activated: false, authorities: ['ROLE_ADMIN'] } as never;
  const user = { id: 7, activated: true, authorities: ['ROLE_USER', 'ROLE_ANALYST'] } as never;

  it('is joined without a condition, and left only while another administrator remains', () => {
    expect(leaveRoster(7).condition).toBe('contains(#ids, :id) AND size(#ids) > :one');
    expect([joinRoster(7), leaveRoster(7)]).toMatchSnapshot();
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
  it('identify each kind of item', () => {
    const time = '2030-02-03T04:05:06.007Z';

    expect({
      user: entityKey('USER', 7),
      'the largest id': entityKey('CONF', Number.MAX_SAFE_INTEGER),
      'a login guard': loginGuardKey('ada'),
      'an email guard': emailGuardKey('ada@b.c'),
      'the roster': rosterKey,
      'a sequence': sequenceKey('USER'),
      'a total': totalKey('INTEGRATION'),
      'a reset key': resetItemKey('abc'),
      'a pending address': pendingEmailKey(7),
      'a count of resets': mailboxResetsKey('hash'),
      'an import marker': importMarkerKey('USER', 'abc'),
      'a mail count': mailCountKey(7, 'reset'),
      'a month of the audit trail': auditPartition('2030-02'),
      'an audit entry': auditKey(time, 'x'),
      'a permanent audit entry': permanentAuditKey(time, 'x'),
      'attempts in a known network': networkAttemptsKey('l', 'n'),
      'attempts elsewhere': elsewhereAttemptsKey('l'),
      'requests of a source': sourceAttemptsKey('s'),
      'a signing key': publicKeyItemKey('kid'),
      'the oldest valid token': notBeforeKey,
    }).toMatchSnapshot();
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
