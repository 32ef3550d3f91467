import { describe, expect, it } from 'vitest';
import { authorize } from '../../lib/authorization/authorize.ts';
import type { Access } from '../../lib/contract/contract.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { newSession, type Session, sessionView } from '../../lib/sessions/session.ts';
import {
  EndOtherSessions,
  EndUserSession,
  ListSessions,
  LogOut,
} from '../../lib/sessions/session-contracts.ts';
import { sessionKey } from '../../lib/sessions/session-item.ts';
import {
  endOtherSessions,
  endSession,
  endSessionOf,
  endSessionsOf,
  listSessions,
  listSessionsOf,
  logOut,
} from '../../lib/sessions/sessions.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { ENDED_SESSIONS_MAX } from '../../lib/users/token-validity.ts';
import type { User } from '../../lib/users/user.ts';
import { formerUserKey, loginGuardKey } from '../../lib/users/user-items.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { storedSession } from '../support/doubles/stored-session.ts';

/* What the rules read and write; over HTTP: test/api/sessions.test.ts. */

const NOW = Date.UTC(2030, 0, 1);
const SECONDS = NOW / 1000;
useFrozenClock(NOW, {
  AUDIT_DAYS: '400',
  TOKEN_SECONDS: '3600',
  REMEMBERED_TOKEN_SECONDS: '86400',
});

const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };
const userOf = (id: number, login: string, fields: Partial<User> = {}) =>
  ({
    ...entityKey('USER', id),
    id,
    login,
    activated: true,
    incarnation: login,
    passwordChanges: 2,
    authorities: ['ROLE_ADMIN'],
    ...fields,
  }) as unknown as User & { pk: string; sk: string };
const ada = userOf(7, 'ada');
const bob = userOf(8, 'bob', { authorities: [] });
const expires = SECONDS + 60;
const sessionOf = (user: User, jti: string, fields: Partial<Session> = {}) => ({
  ...sessionKey(user.id, jti),
  ...storedSession(user, { jti, expires, ...fields }),
});
const tableWith = (...items: { pk: string; sk: string }[]) =>
  memoryTable([
    ada,
    bob,
    { ...loginGuardKey('bob'), id: 8 },
    ...['older', 'mine'].map((jti) => sessionOf(ada, jti)),
    sessionOf(bob, 'his'),
    ...items,
  ]);
const by = (table: MemoryTable, access: Access = EndOtherSessions.access, user = ada) =>
  authorize(
    table,
    { ...storedSession(user, { jti: 'mine', expires }), id: user.id, source: SOURCE.address },
    access,
  );
const admin = (table: MemoryTable) => by(table, EndUserSession.access);
const auditOf = (table: MemoryTable) => table.transactions.at(-1)?.at(-1)?.attributes;

describe('a session', () => {
  const traits = { remembered: false, secondFactor: true };

  it('lasts as long as its token, and names no more of the client', () => {
    const userAgent = `<b>é\u0000"curl"</b> (8.5; x_86/64: +a,b) ${'x'.repeat(300)}`;
    const session = newSession(bob, { ...SOURCE, userAgent }, traits, 3600, NOW + 999);

    expect(session).toEqual({
      jti: expect.stringMatching(/^0[a-z\d]{8}[\w-]{12}$/),
      startedAt: '2030-01-01T00:00:00.999Z',
      expires: SECONDS + 3600,
      ipAddress: '203.0.113.7',
      userAgent: `bcurl/b (8.5; x_86/64: +a,b) ${'x'.repeat(226)}`,
      ...traits,
      incarnation: 'bob',
      passwordChanges: 2,
      sessionEndings: 0,
    });
    expect(newSession(bob, SOURCE, traits, 3600, NOW).userAgent).toBe('');
    expect(newSession(bob, SOURCE, traits, 3600, NOW + 999).jti).not.toBe(session.jti);
    expect(newSession(bob, SOURCE, traits, 3600, NOW + 1000).jti > session.jti).toBe(true);
  });

  it('is shown without what its token states', () => {
    const shown = {
      series: 'his',
      tokenDate: '2030-01-01T00:00:00.000Z',
      ipAddress: '198.51.100.7',
      userAgent: 'curl/8.5.0',
      remembered: false,
      secondFactor: false,
      expires: '2030-01-01T00:01:00.000Z',
    };

    const session = sessionOf(bob, 'his');
    expect(sessionView(session, 'his')).toEqual({ ...shown, current: true });
    expect(sessionView(session, 'mine')).toEqual({ ...shown, current: false });
  });
});

describe('the list of sessions', () => {
  const seriesOf = (sessions: Session[]) => sessions.map(({ jti }) => jti);

  it('has the live ones of the user, the latest first', async () => {
    const ended = sessionOf(ada, 'ended', { passwordChanges: 1 });
    const table = tableWith(ended, sessionOf(ada, 'past', { expires: SECONDS }));

    const own = await listSessions(table, by(table, ListSessions.access));

    expect(seriesOf(own)).toEqual(['older', 'mine']);
    expect(seriesOf(await listSessionsOf(table, admin(table), 'bob'))).toEqual(['his']);
    expect(table.queries.map(({ range }) => range)).toEqual([
      { backwards: true, limit: 1000 },
      { backwards: true, limit: 1000 },
    ]);
    await expect(listSessionsOf(table, admin(table), 'eve')).rejects.toThrow('not-found');
  });

  it('is charged to the caller if it is long', async () => {
    const many = Array.from({ length: 40 }, (_, n) => sessionOf(ada, `n${n}`));
    const table = tableWith(...many);

    await listSessions(table, by(table, ListSessions.access));

    expect(table.updates[0]?.key.pk).toBe('READS#0000000000000007');
  });
});

describe('ending', () => {
  const lostAll = { sessionEndings: 1, sessionsEnded: undefined };
  const named = nameOf(sessionKey(7, 'older'));
  const his = nameOf(sessionKey(8, 'his'));
  type Ending = (table: MemoryTable) => Promise<void>;
  const endedAlone = (series: string) => ({
    action: 'session.ended',
    changes: [{ field: 'sessions', removed: [series] }],
  });

  it.each<[string, Ending, User, object, string | undefined, object]>([
    [
      "one of one's own",
      (table) => endSession(table, by(table), 'older'),
      ada,
      { sessionsEnded: new Set([`${expires}-older`]) },
      named,
      endedAlone('older'),
    ],
    [
      'the current one',
      (table) => logOut(table, by(table, LogOut.access)),
      ada,
      { sessionsEnded: new Set([`${expires}-mine`]) },
      nameOf(sessionKey(7, 'mine')),
      endedAlone('mine'),
    ],
    [
      'all others',
      (table) => endOtherSessions(by(table)),
      ada,
      { ...lostAll, tokenExcepted: 'mine' },
      undefined,
      { action: 'sessions.ended' },
    ],
    [
      'one of another user',
      (table) => endSessionOf(table, admin(table), { login: 'bob', series: 'his' }),
      bob,
      { sessionsEnded: new Set([`${expires}-his`]) },
      his,
      endedAlone('his'),
    ],
    [
      'all of another user',
      (table) => endSessionsOf(table, admin(table), 'bob'),
      bob,
      lostAll,
      undefined,
      { action: 'sessions.ended' },
    ],
  ])('%s changes the user and is audited', async (_, end, user, changes, deleted, event) => {
    const table = tableWith();

    await end(table);

    expect(table.find(entityKey('USER', user.id))).toEqual({ ...user, ...changes });
    const others = Object.keys(table.changed()).filter((name) => !/^(USER|AUDIT)/.test(name));
    expect(others).toEqual(deleted ? [deleted] : []);
    const target = { target: `user/${user.id}`, targetName: user.login };
    expect(auditOf(table)).toMatchObject({
      actorId: 7,
      source: '203.0.113.7',
      session: 'mine',
      ...event,
      ...target,
    });
  });

  it.each<[string, Ending]>([
    ["one's own", (table) => endSession(table, by(table), 'none')],
    ['an expired one', (table) => endSession(table, by(table), 'past')],
    ["another user's", (table) => endSession(table, by(table), 'his')],
    ['of a user', (table) => endSessionOf(table, admin(table), { login: 'bob', series: 'x' })],
    ['of nobody', (table) => endSessionOf(table, admin(table), { login: 'eve', series: 'x' })],
    ['all of nobody', (table) => endSessionsOf(table, admin(table), 'eve')],
  ])('an unknown session fails: %s', async (_, end) => {
    const table = tableWith(sessionOf(ada, 'past', { expires: SECONDS }));

    await expect(end(table)).rejects.toMatchObject({ code: 'not-found' });
    expect(table.transactions).toEqual([]);
  });

  it('keeps the current session when all must end, unless it is the one that ends', async () => {
    const full = new Set(Array.from({ length: ENDED_SESSIONS_MAX }, (_, n) => `${expires}-${n}`));
    const outcomes = [];
    for (const end of [
      (table: MemoryTable) => endSession(table, by(table), 'older'),
      (table: MemoryTable) => logOut(table, by(table)),
    ]) {
      const table = tableWith({ ...ada, sessionsEnded: full } as never);
      await end(table);
      const kept = table.find(entityKey('USER', 7))?.tokenExcepted;
      outcomes.push([kept, auditOf(table)?.action, auditOf(table)?.changes]);
    }

    expect(outcomes).toEqual([
      ['mine', 'sessions.ended', undefined],
      [undefined, 'sessions.ended', undefined],
    ]);
  });

  it.each([
    ['has ended', { sessionsEnded: new Set([`${expires}-mine`]) }],
    ['belongs to a deactivated user', { activated: false }],
  ])('the current session succeeds and changes nothing if it %s', async (_, fields) => {
    const table = tableWith({ ...ada, ...fields } as never);

    await logOut(table, by(table, LogOut.access));

    expect(table.transactions).toEqual([]);
  });

  it('the current session ends as well when the user was deleted', async () => {
    const { pk: _pk, sk: _sk, ...state } = ada;
    const former = { ...formerUserKey(7), ...state };
    const [admitting, foreign] = [former, { ...former, incarnation: 'other' }];
    for (const stored of [admitting, foreign, undefined]) {
      const table = memoryTable(stored ? [stored] : []);

      await logOut(table, by(table, LogOut.access));

      expect(table.find(formerUserKey(7))?.sessionsEnded).toEqual(
        stored === admitting ? new Set([`${expires}-mine`]) : undefined,
      );
    }
  });

  it.each([
    ['alone', { sessionsEnded: new Set([`${expires}-mine`]) }],
    ['with all others', { sessionEndings: 5 }],
  ])('a session of a deleted user writes nothing if it has ended %s', async (_, ended) => {
    const { pk: _pk, sk: _sk, ...state } = ada;
    const table = memoryTable([{ ...formerUserKey(7), ...state, ...ended } as never]);

    await logOut(table, by(table, LogOut.access));

    expect(table.transactions).toEqual([]);
  });

  it('two sessions of a deleted user at once ends both', async () => {
    const { pk: _pk, sk: _sk, ...state } = ada;
    const former = { ...formerUserKey(7), ...state };
    const table = memoryTable([former]);
    const other = `${expires}-other`;
    table.concurrent.push([put(formerUserKey(7), { ...former, sessionsEnded: new Set([other]) })]);

    await logOut(table, by(table, LogOut.access));

    expect(table.find(formerUserKey(7))?.sessionsEnded).toEqual(
      new Set([other, `${expires}-mine`]),
    );
  });

  it('the current session fails as any change does otherwise', async () => {
    const table = tableWith();
    const get = () => Promise.reject(new Failure('unavailable'));
    Object.assign(table, { get });

    await expect(logOut(table, by(table, LogOut.access))).rejects.toThrow('unavailable');
  });
});
