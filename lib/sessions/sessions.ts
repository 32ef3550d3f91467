import { Failure } from '../contract/failure.ts';
import { loadDecideCommit } from '../table/change.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { sessionsChanged } from '../users/credential-table.ts';
import {
  allSessionsEnded,
  type IssuedToken,
  isEnded,
  isOfAccount,
  sessionEnded,
} from '../users/token-validity.ts';
import type { User } from '../users/user.ts';
import {
  auditEventFor,
  findFormerUser,
  findUserByLogin,
  formerSessionEnded,
} from '../users/user-table.ts';
import { isLive, type Session } from './session.ts';
import { findLiveSessions, findSession, sessionKey } from './session-table.ts';

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
    await caller.change({
      decide: ({ callerUser, now }) => endOne(callerUser, caller, { now }),
    });
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'invalid-token')) throw error;
    await loadDecideCommit(
      table,
      () => findFormerUser(table, caller.id),
      (former, now) => ({
        writes:
          isOfAccount(former, caller) && !isEnded(former, caller)
            ? [formerSessionEnded(caller, former, now)]
            : [],
        result: undefined,
      }),
    );
  }
}

/** Ends one of the caller's sessions. Fails with not-found if it does not exist or has ended. */
export function endSession(table: Table, caller: AuthorizedCaller, series: string): Promise<void> {
  return caller.change({
    load: () => findSession(table, caller.id, series),
    decide: ({ loaded: session, callerUser, now }) => {
      if (!session || !isLive(session, callerUser, now)) throw new Failure('not-found');
      return endOne(callerUser, session, { now, kept: caller.jti });
    },
  });
}

/** Ends all other sessions of the caller than the one of the request. */
export function endOtherSessions(caller: AuthorizedCaller): Promise<void> {
  return caller.change({
    decide: ({ callerUser }) => ({
      writes: [sessionsChanged(callerUser, allSessionsEnded(callerUser, caller.jti))],
      result: undefined,
      event: auditEventFor('sessions.ended', callerUser, []),
    }),
  });
}

/** Ends all sessions of the user with this login. Fails with not-found and forbidden. */
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
        writes: [sessionsChanged(user, allSessionsEnded(user))],
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
      return { user, session: user && (await findSession(table, user.id, series)) };
    },
    decide: ({ loaded: { user, session }, now }) => {
      if (!user || !session || !isLive(session, user, now)) throw new Failure('not-found');
      return endOne(user, session, { now });
    },
  });
}

/**
 * Ends the session of a token. If all others must end with it, `kept` stays, and that is what is
 * audited.
 */
function endOne(
  user: User,
  token: Pick<IssuedToken, 'jti' | 'expires'>,
  { now, kept }: { now: number; kept?: string },
) {
  const ended = sessionEnded(user, token, now, kept);
  const isAlone = !('sessionEndings' in ended);
  return {
    writes: [
      sessionsChanged(user, ended),
      { act: 'Delete', key: sessionKey(user.id, token.jti) } as const,
    ],
    result: undefined,
    event: isAlone
      ? auditEventFor('session.ended', user, [{ field: 'sessions', removed: [token.jti] }])
      : auditEventFor('sessions.ended', user, []),
  };
}
