import { describe, expect, it } from 'vitest';
import { anonymous, auditEntry } from '../../lib/audit/audit-entry.ts';
import { auditView, entryOf } from '../../lib/audit/read-audits.ts';
import { pick, viewOf } from '../../lib/contract/entity-fields.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { USERS } from '../../lib/users/list-users.ts';
import { standingOf, tokensExpire } from '../../lib/users/user.ts';
import { storedUser } from '../support/doubles/stored-items.ts';

it('an audit entry without changes is shown as stored, without its expiry', () => {
  const entry = {
    id: 'i',
    time: 't',
    actor: 'ada',
    actorId: 7,
    action: 'user.created',
    target: 'user/8',
    targetName: 'bob',
    fields: ['email'],
  };

  expect(auditView(entryOf({ pk: 'AUDIT#', sk: 't#i', ...entry, expires: 9 }))).toEqual({
    ...entry,
    changes: [],
    integrationId: null,
    integrationName: null,
    session: null,
    source: null,
    count: null,
  });
});

it.each([
  ['user/8', undefined, {}],
  ['integration/7', undefined, { integrationId: 7, integrationName: 'bob' }],
  ['parameter/7000003', 'Gate', { integrationId: 7, integrationName: 'Gate' }],
] as const)(
  'an entry about %s of the integration %s names it',
  (target, integrationName, named) => {
    const event = { action: 'user.created', target, targetName: 'bob', changes: [] } as const;
    const { key, attributes } = auditEntry(
      anonymous('192.0.2.1'),
      { ...event, ...(integrationName && { integrationName }) },
      0,
    );

    expect(entryOf({ ...key, ...attributes })).toStrictEqual({
      ...attributes,
      ...named,
      added: [],
      removed: [],
    });
  },
);

it('a view has the listed fields only, null for absent ones, and keeps false, 0 and ""', () => {
  const entity = { a: 0, b: false, c: '', d: undefined, secret: 's' };

  expect(viewOf(entity, { d: {}, c: {}, b: {}, a: {} })).toEqual({
    a: 0,
    b: false,
    c: '',
    d: null,
  });
});

it('picking keeps a present field that is undefined, and adds no absent one', () => {
  const change: { a?: string | undefined; b?: string; c?: string } = { a: undefined, c: 'x' };

  expect(Object.keys(pick(change, ['a', 'b']))).toEqual(['a']);
});

describe('the state of a user', () => {
  const [invitedAt, now] = ['2026-01-02T00:00:00.000Z', Date.parse('2026-01-02T12:00:00Z')];
  const until = '2026-01-03T00:00:00.000Z';
  const [before, after] = ['2026-01-01T23:59:59.999Z', '2026-01-02T00:00:00.001Z'];

  it.each([
    ['active', null, { lastLogin: before }],
    ['invited', until, { invitedAt, lastLogin: before }],
    ['invited', until, { invitedAt, lastLogin: invitedAt }],
    ['active', null, { invitedAt, lastLogin: after }],
    ['neverLoggedIn', null, { invitedAt, identities: [{ issuer: 'https://idp', subject: 'a' }] }],
    ['deactivated', null, { invitedAt, lastLogin: before, activated: false }],
  ])('is %s, with an invitation until %s: %j', (state, invitedUntil, user) => {
    expect(standingOf({ activated: true, ...user }, now)).toEqual({ state, invitedUntil });
  });

  it('is an expired invitation from the end of its day on', () => {
    const stateAt = (time: number) => standingOf({ activated: true, invitedAt }, time).state;

    expect([Date.parse(until) - 1, Date.parse(until)].map(stateAt)).toEqual([
      'invited',
      'invitationExpired',
    ]);
  });
});

describe('the first API token of a user', () => {
  const tokens = [2000, 1000].map((expires) => ({ series: `${expires}`, expires }));

  it.each([
    ['of two that are valid', 999_999, '1970-01-01T00:16:40.000Z'],
    ['beside one that has expired', 1_000_000, '1970-01-01T00:33:20.000Z'],
    ['after all have expired', 2_000_000, null],
  ])('expires first %s', (_, now, expected) => {
    expect(tokensExpire({ tokens }, now)).toBe(expected);
  });
});

it('a list has what people look for in a user, and what administrators see', () => {
  const tokens = [{ series: 's', expires: 4_000_000_000 }];
  const user = storedUser(7, 'ada', { firstName: 'Ada', lastName: 'King', tokens });

  expect(USERS.entityOf({ ...entityKey('USER', 7), ...user })).toEqual({
    ...user,
    secondFactor: false,
    state: 'neverLoggedIn',
    tokensExpire: '2096-10-02T07:06:40.000Z',
    text: ['ada', 'ada@example.com', 'Ada King'],
  });
});
