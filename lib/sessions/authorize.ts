import { auditEntry } from '../audit/audit-entry.ts';
import { type Access, isInScope, type Scope } from '../contract/contract.ts';
import { Failure, type FailureCode } from '../contract/failure.ts';
import { settleAll } from '../runtime/waiting.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, type Condition, EXISTS, withConditionOn } from '../table/write.ts';
import { type EndedSessions, endedSessions, requireChangeLeft } from '../users/account-limits.ts';
import type { AuthorizedCaller, Caller, CallerFrom, ChangeRule } from '../users/caller.ts';
import {
  type AccessState,
  hasProvidersFactor,
  isLive,
  keyOfCaller,
  type Session,
  sessionKey,
  sessionOf,
} from '../users/session-item.ts';
import type { User } from '../users/user.ts';
import {
  type FactorRequirement,
  isInForce,
  lacksFactor,
  needsFactor,
  openFactorRequirement,
} from '../users/user-factor.ts';
import { actorOf, userOf } from '../users/user-table.ts';

/** What a request requires of its caller. */
interface Requirements {
  readonly access: Access;
  /** Absent if no API token is accepted. */
  readonly scope: Scope | undefined;
  readonly secondFactor: FactorRequirement | undefined;
}

/** The settings of the stack that decide on access. */
export const openAccessSettings = () => ({
  deletionEndsSessions: process.env.DELETION_ENDS_SESSIONS === 'true',
  secondFactor: openFactorRequirement(),
});

/** The user and the session of a caller, as stored; an API token has no session. */
interface Stored {
  readonly caller: Caller;
  readonly user: User | undefined;
  readonly session: Session | undefined;
}

/** Whether the session or the API token has not ended, and its user can use it. */
function isValid(stored: Stored): stored is Stored & { readonly user: User } {
  const { caller, user, session } = stored;
  if (!user?.activated) return false;
  return caller.scopes
    ? user.tokens?.some(({ series }) => series === caller.jti) === true
    : session !== undefined && isLive(session, user, Date.now());
}

/** What decides on the access: a second factor of an identity provider is one of the session. */
const accessOf = ({ user, session }: Stored & { readonly user: User }): AccessState => ({
  authorities: user.authorities,
  secondFactor: user.secondFactor ?? (session && hasProvidersFactor(session)),
});

/**
 * Reads the user and the session of a caller in one call. The user says whether an API token has
 * ended; its item was read when it was verified. A session that seems to have ended is
 * read again after its user: a change that keeps it may have been committed between the two reads.
 */
async function readStored(table: Table, caller: CallerFrom): Promise<Stored> {
  const [userItem, sessionItem] = await table.getAll([
    entityKey('USER', caller.id),
    ...(caller.scopes ? [] : [sessionKey(caller)]),
  ]);
  const user = userItem && userOf(userItem);
  const session = sessionItem && sessionOf(sessionItem);
  const stored: Stored = { caller, user, session };
  if (!session || isValid(stored) || session.deletedUser) return stored;
  const [again] = await table.getAll([sessionKey(caller)]);
  return { ...stored, session: again && sessionOf(again) };
}

/**
 * The failure for a caller that is not authorized by the stored user; undefined if it is. A missing
 * role or second factor is 403 (RFC 6750, 3.1).
 */
function denialReason(
  user: AccessState,
  { access, secondFactor }: Pick<Requirements, 'access' | 'secondFactor'>,
): FailureCode | undefined {
  if (needsFactor(access) && lacksFactor(user, secondFactor, Date.now()))
    return 'second-factor-required';
  const isAuthorized =
    typeof access !== 'object' || access.anyRole.some((role) => user.authorities.includes(role));
  return isAuthorized ? undefined : 'forbidden';
}

/**
 * What `denialReason` and `isValid` require of the user, as a condition in the transaction of the
 * change; that the session or the API token exists is a condition on its item. A deactivation ends
 * all sessions, so it needs no condition of its own. The version stands for the roles and for the
 * login, which is written to the audit fields and may meanwhile belong to another user;
 * `factorChanges` stands for the second factor. Where the change updates this item, its function
 * may write whatever the condition names (routes.ts).
 */
function userStillAuthorized(
  { version, passwordChanges, sessionEndings, factorChanges }: User,
  { access, secondFactor }: Pick<Requirements, 'access' | 'secondFactor'>,
  now: number,
): Condition {
  const requiresFactor = needsFactor(access) && secondFactor && isInForce(secondFactor, now);
  return attributesAre(
    { version, passwordChanges, sessionEndings, ...(requiresFactor && { factorChanges }) },
    'caller_',
  );
}

const ADMINISTRATORS: Access = { anyRole: ['ROLE_ADMIN'] };

/**
 * Binds a caller to the access that a contract requires. Unless `deletionEndsSessions`, the
 * sessions of a deleted account can still read what requires no role.
 */
export function authorize(
  table: Table,
  caller: CallerFrom,
  access: Access,
  {
    scope,
    deletionEndsSessions,
    secondFactor,
    ended = endedSessions(),
  }: {
    readonly scope?: Scope | undefined;
    readonly deletionEndsSessions?: boolean;
    readonly secondFactor?: FactorRequirement | undefined;
    readonly ended?: EndedSessions;
  } = {},
): AuthorizedCaller {
  const required: Requirements = { access, scope, secondFactor };
  // The endpoint, the read budget and the first load of a change share one read; a retry must read
  // the current state.
  let read: Promise<Stored> | undefined;
  let isLoaded = false;
  const readOnce = (): Promise<Stored> => {
    read ??= readStored(table, caller);
    return read;
  };
  // The API demands it: deleting a user does not immediately end existing sessions.
  const canOutliveUser = access === 'authenticated' && !deletionEndsSessions;
  /** Fails with invalid-token, after which clients log in again (RFC 6750, 3.1). */
  function refuse(): never {
    // An endpoint that asks for the user of its caller does so for every request, so the session of
    // a deleted user is remembered even where others can outlive their user.
    ended.add(caller);
    throw new Failure('invalid-token');
  }
  /** Before the roles: with the scope, the roles of the user decide. */
  function requireScope(): void {
    const { scopes } = caller;
    if (scopes && !(scope && isInScope(scopes, scope)))
      throw new Failure('insufficient-scope', { scope });
  }
  function requireNoDenial(user: AccessState): void {
    const reason = denialReason(user, required);
    if (reason) throw new Failure(reason);
  }
  const confirm = async (): Promise<User> => {
    const stored = await readOnce();
    if (!isValid(stored)) refuse();
    requireScope();
    requireNoDenial(accessOf(stored));
    return stored.user;
  };
  const loadUser = (): Promise<User> => {
    if (isLoaded) read = undefined;
    isLoaded = true;
    return confirm();
  };

  return {
    ...caller,
    findUser: confirm,
    async hasSecondFactor() {
      const stored = await readOnce();
      return isValid(stored) && Boolean(accessOf(stored).secondFactor);
    },
    async isAdministrator() {
      const stored = await readOnce();
      const asAdministrator = { ...required, access: ADMINISTRATORS };
      return isValid(stored) && denialReason(accessOf(stored), asAdministrator) === undefined;
    },
    async requireAuthorized() {
      // A log-out ends sessions only, also those that have ended.
      if (access === 'issued-token') return requireScope();
      const { deletedUser } = (await readOnce()).session ?? {};
      if (canOutliveUser && deletedUser) requireNoDenial(deletedUser);
      else await confirm();
    },
    async change(rule) {
      if (ended.has(caller)) throw new Failure('invalid-token');
      return changeBy({ table, caller, required, loadUser }, rule);
    },
  };
}

/** What a change by a caller needs. `loadUser` fails as `findUser` does. */
interface ChangingCaller {
  readonly table: Table;
  readonly caller: CallerFrom;
  readonly required: Requirements;
  readonly loadUser: () => Promise<User>;
}

/** Applies a rule on behalf of a caller, as `AuthorizedCaller.change` states. */
async function changeBy<R, E, L, P>(
  { table, caller, required, loadUser }: ChangingCaller,
  rule: ChangeRule<R, E, L, P>,
): Promise<R> {
  const load = rule.load ?? (async (early: E) => early as unknown as L);
  let counting: Promise<void> | undefined;
  let preparing: Promise<P> | undefined;

  const loadAndPrepare = async () => {
    // Nothing but `loadEarly` starts before this has confirmed that the caller is authorized.
    const [callerUser, early] = await settleAll([loadUser(), rule.loadEarly?.() as Promise<E>]);
    // After the caller is confirmed: an ended token must not use up the changes of its account. A
    // log-out always succeeds.
    counting ??=
      required.access === 'issued-token' ? Promise.resolve() : requireChangeLeft(table, caller.id);
    const [loaded] = await settleAll([load(early), counting]);
    preparing ??= rule.prepare?.(loaded);
    return { callerUser, loaded, prepared: (await preparing) as P };
  };
  const decide = (known: Awaited<ReturnType<typeof loadAndPrepare>>, now: number) => {
    const { callerUser } = known;
    const { writes, result, event } = rule.decide({ ...known, now });
    // A change without writes has no audit entry.
    if (writes.length === 0) return { writes, result };
    const actor = actorOf(callerUser, { source: caller.source, session: caller.jti });
    return {
      writes: [
        ...withConditionOn(
          entityKey('USER', caller.id),
          userStillAuthorized(callerUser, required, now),
          withConditionOn(keyOfCaller(caller), EXISTS, writes),
        ),
        ...[event].flat().map((each) => auditEntry(actor, each, now)),
      ],
      result,
    };
  };
  return loadDecideCommit(table, loadAndPrepare, decide);
}
