import { Failure } from '../contract/failure.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import { check, versionIs } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { sessionsAndTokensEnded } from '../users/credential-table.ts';
import {
  findLiveSessions,
  findSession,
  isLive,
  type Session,
  sessionEnded,
  sessionKept,
} from '../users/session-item.ts';
import type { User } from '../users/user.ts';
import { auditEventFor, findUserByLogin } from '../users/user-table.ts';

/** Lists the caller's own sessions. Fails with invalid-token and read-budget-spent. */
export async function listSessions(table: Table, caller: AuthorizedCaller): Promise<Session[]> {
  return chargedList(table, caller, () => caller.findUser());
}

/** Lists the sessions of the user with this login. Fails as `listSessions` and with not-found. */
export async function listSessionsOf(
  table: Table,
  caller: AuthorizedCaller,
  login: string,
): Promise<Session[]> {
  return chargedList(table, caller, async () => {
    const user = await findUserByLogin(table, login);
    if (!user) throw new Failure('not-found');
    return user;
  });
}

async function chargedList(
  table: Table,
  caller: AuthorizedCaller,
  findOwner: () => Promise<User>,
): Promise<Session[]> {
  const budget = readBudget(table, caller);
  await budget.requireUnspent();
  let consumed = 0;
  const sessions = await findLiveSessions(table, await findOwner(), (units) => {
    consumed += units;
  });
  await budget.settle(consumed);
  return sessions;
}

/**
 * Ends the session of the caller's token, even if the user was deleted. Succeeds as well if it has
 * ended already.
 */
export async function logOut(table: Table, caller: AuthorizedCaller): Promise<void> {
  try {
    await caller.change({ decide: ({ callerUser }) => ended(callerUser, caller.jti) });
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'invalid-token')) throw error;
    await loadDecideCommit(
      table,
      () => findSession(table, caller),
      (session) => ({ writes: session ? [sessionEnded(caller)] : [], result: undefined }),
    );
  }
}

/** Ends one of the caller's sessions. Fails with not-found if it does not exist or has ended. */
export function endSession(table: Table, caller: AuthorizedCaller, series: string): Promise<void> {
  return caller.change({
    load: () => findSession(table, { id: caller.id, jti: series }),
    decide: ({ loaded: session, callerUser, now }) => {
      if (!session || !isLive(session, callerUser, now)) throw new Failure('not-found');
      return ended(callerUser, series);
    },
  });
}

/** Ends all API tokens of the caller, and all sessions but the one of the request. */
export function endOtherSessions(caller: AuthorizedCaller): Promise<void> {
  return caller.change({
    decide: ({ callerUser }) => ({
      writes: [
        sessionsAndTokensEnded(callerUser),
        sessionKept(caller, callerUser, 'sessionEndings'),
      ],
      result: undefined,
      event: auditEventFor('sessions.ended', callerUser, []),
    }),
  });
}

/**
 * Ends all sessions and API tokens of the user with this login. Fails with not-found and forbidden.
 */
export function endSessionsOf(
  table: Table,
  caller: AuthorizedCaller,
  login: string,
): Promise<void> {
  return caller.change({
    load: () => findUserByLogin(table, login),
    decide: ({ loaded: user }) => {
      if (!user) throw new Failure('not-found');
      return {
        writes: [sessionsAndTokensEnded(user)],
        result: undefined,
        event: auditEventFor('sessions.ended', user, []),
      };
    },
  });
}

/** Ends a session of the user with this login. Fails with not-found and forbidden. */
export function endSessionOf(
  table: Table,
  caller: AuthorizedCaller,
  { login, series }: { readonly login: string; readonly series: string },
): Promise<void> {
  return caller.change({
    async load() {
      const user = await findUserByLogin(table, login);
      const session = user && (await findSession(table, { id: user.id, jti: series }));
      return { user, session };
    },
    decide: ({ loaded: { user, session }, now }) => {
      if (!user || !session || !isLive(session, user, now)) throw new Failure('not-found');
      return ended(user, series);
    },
  });
}

/** The end of one session of a user, on condition that the login is unchanged: it is audited. */
const ended = (user: User, series: string) => ({
  writes: [
    check(entityKey('USER', user.id), versionIs(user)),
    sessionEnded({ id: user.id, jti: series }),
  ],
  result: undefined,
  event: auditEventFor('session.ended', user, [{ field: 'sessions', removed: [series] }]),
});
