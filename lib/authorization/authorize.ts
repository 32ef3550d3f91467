import { auditEntry } from '../audit/audit-entry.ts';
import type { Access } from '../contract/contract.ts';
import { Failure, type FailureCode } from '../contract/failure.ts';
import { settleAll } from '../runtime/waiting.ts';
import {
  type FactorRequirement,
  isInForce,
  lacksFactor,
  needsFactor,
  openFactorRequirement,
} from '../second-factor/user-factor.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, type Condition, withConditionOn } from '../table/write.ts';
import type { AuthorizedCaller, Caller, CallerFrom, ChangeRule } from '../users/caller.ts';
import { isEnded, isOfAccount, stillValid } from '../users/token-validity.ts';
import type { User } from '../users/user.ts';
import { actorOf, type FormerUser, findFormerUser, findUser } from '../users/user-table.ts';
import { type EndedTokens, endedTokens, requireChangeLeft } from './account-limits.ts';

/** What a request requires of its caller. */
interface Requirements {
  readonly access: Access;
  readonly secondFactor: FactorRequirement | undefined;
}

/** The settings of the stack that decide on access. */
export const openAccessSettings = () => ({
  deletionEndsSessions: process.env.DELETION_ENDS_SESSIONS === 'true',
  secondFactor: openFactorRequirement(),
});

/**
 * The failure for a caller that is not authorized by its stored user; undefined if it is. A token
 * that has ended is 401, after which clients log in again; a missing role or second factor is 403
 * (RFC 6750, 3.1).
 */
function denialReason(
  user: FormerUser | undefined,
  caller: Caller,
  { access, secondFactor }: Requirements,
): FailureCode | undefined {
  if (!isOfAccount(user, caller) || !user.activated || isEnded(user, caller))
    return 'invalid-token';
  if (needsFactor(access) && lacksFactor(user, secondFactor, Date.now()))
    return 'second-factor-required';
  const isAuthorized =
    typeof access !== 'object' || access.anyRole.some((role) => user.authorities?.includes(role));
  return isAuthorized ? undefined : 'forbidden';
}

/**
 * The rule of `denialReason` as a condition on the caller's item, checked in the transaction of the
 * change. A deactivation ends all sessions, so it needs no condition of its own. The version stands
 * for the roles and for the login, which is written to the audit fields and may meanwhile belong to
 * another user; `factorChanges` stands for the second factor. Where the change updates this item,
 * its function may write whatever the condition names (routes.ts).
 */
function callerStillAuthorized(
  { version, factorChanges }: User,
  caller: Caller,
  { access, secondFactor }: Requirements,
  now: number,
): Condition {
  const requiresFactor = needsFactor(access) && secondFactor && isInForce(secondFactor, now);
  const unchanged = attributesAre({ version, ...(requiresFactor && { factorChanges }) }, 'caller_');
  const valid = stillValid(caller);
  return {
    ...valid,
    condition: `${valid.condition} AND ${unchanged.condition}`,
    names: { ...valid.names, ...unchanged.names },
    values: { ...valid.values, ...unchanged.values },
  };
}

const ADMINISTRATORS: Access = { anyRole: ['ROLE_ADMIN'] };

/**
 * Binds a caller to the access that a contract requires. Unless `deletionEndsSessions`, the tokens
 * of a deleted account can still read what requires no role.
 */
export function authorize(
  table: Table,
  caller: CallerFrom,
  access: Access,
  {
    deletionEndsSessions = false,
    secondFactor,
    ended = endedTokens(),
  }: {
    readonly deletionEndsSessions?: boolean;
    readonly secondFactor?: FactorRequirement | undefined;
    readonly ended?: EndedTokens;
  } = {},
): AuthorizedCaller {
  const required: Requirements = { access, secondFactor };
  // The endpoint, the read budget and the first load of a change share one read; a retry must read
  // the current state.
  let read: Promise<User | undefined> | undefined;
  let isLoaded = false;
  const readOnce = (): Promise<User | undefined> => {
    read ??= findUser(table, caller.id);
    return read;
  };
  // The contract: deleting a user does not immediately end existing sessions.
  const canOutliveUser = access === 'authenticated' && !deletionEndsSessions;
  let readFormer: Promise<FormerUser | undefined> | undefined;
  const readFormerOnce = async (): Promise<FormerUser | undefined> => {
    if (canOutliveUser) readFormer ??= findFormerUser(table, caller.id);
    return readFormer;
  };
  /**
   * Fails with the denial reason. An endpoint that asks for the user of its caller does so for
   * every request, so a deleted user is remembered even where others can outlive theirs.
   */
  function requireNoDenial<U extends FormerUser>(user: U | undefined): asserts user is U {
    const reason = denialReason(user, caller, required);
    if (reason === 'invalid-token') ended.add(user, caller);
    if (reason) throw new Failure(reason);
  }
  const confirm = async (): Promise<User> => {
    const user = await readOnce();
    requireNoDenial(user);
    return user;
  };
  const loadUser = (): Promise<User> => {
    if (isLoaded) read = undefined;
    isLoaded = true;
    return confirm();
  };

  return {
    ...caller,
    findUser: confirm,
    async isAdministrator() {
      return (
        denialReason(await readOnce(), caller, { ...required, access: ADMINISTRATORS }) ===
        undefined
      );
    },
    async requireAuthorized() {
      if (access === 'issued-token') return;
      requireNoDenial((await readOnce()) ?? (await readFormerOnce()));
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
          callerStillAuthorized(callerUser, caller, required, now),
          writes,
        ),
        ...[event].flat().map((each) => auditEntry(actor, each, now)),
      ],
      result,
    };
  };
  return loadDecideCommit(table, loadAndPrepare, decide);
}
