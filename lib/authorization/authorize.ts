import { auditEntry } from '../audit/audit-entry.ts';
import type { Caller } from '../contract/caller.ts';
import type { Access, Role } from '../contract/contract.ts';
import { Failure, type FailureCode } from '../contract/failure.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { change } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type Condition, check, type Write, withCondition } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { User } from '../users/user.ts';
import { findUser } from '../users/user-table.ts';
import {
  AFTER_STALE_VERSION_MS,
  endPrecedence,
  findPrecedence,
  takePrecedence,
} from './precedence.ts';

/**
 * Whether the token was issued for this account; false if it was deleted, even if its id was
 * assigned again.
 */
const isOfAccount = (user: User | undefined, { accountStamp }: Caller): user is User =>
  user !== undefined && user.accountStamp === accountStamp;

/**
 * Whether the password has changed since the token was issued, unless this very token made the
 * change.
 */
const isStale = (user: User, { passwordChanges, jti }: Caller): boolean =>
  user.passwordChanges !== passwordChanges && user.tokenExcepted !== jti;

/** The failure for a caller that is not authorized by its stored user; undefined if it is. */
function denialReason(
  user: User | undefined,
  caller: Caller,
  access: Access,
): FailureCode | undefined {
  if (!isOfAccount(user, caller)) return access === 'authenticated' ? 'unauthorized' : 'forbidden';
  const roles = rolesOf(access);
  const isAuthorized = roles.length === 0 || roles.some((role) => user.authorities.includes(role));
  return user.activated && !isStale(user, caller) && isAuthorized ? undefined : 'forbidden';
}

/**
 * The rule of `denialReason` as a condition on the caller's item, checked in the transaction of the
 * change. The login must be unchanged as well: it is written to the audit fields, and may meanwhile
 * belong to another user.
 */
function callerStillAuthorized({ login }: User, caller: Caller, access: Access): Condition {
  const roles = rolesOf(access).map((role, index) => ({ name: `:role${index}`, role }));
  const anyRoleHeld = roles.map(({ name }) => `contains(#callerRoles, ${name})`).join(' OR ');
  const { accountStamp } = caller;
  const sameAccount =
    accountStamp === undefined
      ? 'attribute_not_exists(#callerStamp)'
      : '#callerStamp = :callerStamp';
  return {
    condition:
      `${sameAccount} AND #callerActivated = :activated AND #callerLogin = :callerLogin AND ` +
      '(#passwordChanges = :passwordChanges OR #tokenExcepted = :jti)' +
      (anyRoleHeld && ` AND (${anyRoleHeld})`),
    names: {
      '#callerStamp': 'accountStamp',
      '#callerActivated': 'activated',
      '#callerLogin': 'login',
      '#passwordChanges': 'passwordChanges',
      '#tokenExcepted': 'tokenExcepted',
      ...(anyRoleHeld && { '#callerRoles': 'authorities' }),
    },
    values: {
      ...(accountStamp !== undefined && { ':callerStamp': accountStamp }),
      ':activated': true,
      ':callerLogin': login,
      ':passwordChanges': caller.passwordChanges,
      ':jti': caller.jti,
      ...Object.fromEntries(roles.map(({ name, role }) => [name, role])),
    },
    onConditionFailed: 'retry',
  };
}

/** The stored user of an authorized caller. Fails with forbidden or unauthorized. */
function authorizedUser(user: User | undefined, caller: Caller, access: Access): User {
  const reason = denialReason(user, caller, access);
  if (reason || !user) throw new Failure(reason ?? 'forbidden');
  return user;
}

/**
 * Reads the caller's own user. Fails with unauthorized if it was deleted, even if its id was
 * assigned again.
 */
export async function findCallerUser(table: Table, caller: Caller): Promise<User> {
  const user = await findUser(table, caller.id);
  if (!isOfAccount(user, caller)) throw new Failure('unauthorized');
  return user;
}

function rolesOf(access: Access): readonly Role[] {
  return typeof access === 'object' ? access.anyRole : [];
}

/**
 * Binds a caller to the access that a contract requires. Roles from the token are checked here:
 * fails with forbidden. Roles from the table are checked by `requireAuthorized`; `change` always
 * checks the stored user.
 */
export function authorize(table: Table, caller: Caller, access: Access): AuthorizedCaller {
  if (typeof access === 'object' && access.rolesFrom === 'token') {
    if (!access.anyRole.some((role) => caller.roles.includes(role))) throw new Failure('forbidden');
  }
  // The endpoint, the read budget and the first load of a change share one read; a retry must read
  // the current state.
  let read: Promise<User | undefined> | undefined;
  let isLoaded = false;
  const readOnce = (): Promise<User | undefined> => {
    read ??= findUser(table, caller.id);
    return read;
  };
  const confirm = async (): Promise<User> => authorizedUser(await readOnce(), caller, access);
  const loadUser = (): Promise<User> => {
    if (isLoaded) read = undefined;
    isLoaded = true;
    return confirm();
  };

  return {
    ...caller,
    findUser: confirm,
    async requireAuthorized() {
      if (typeof access === 'object' && access.rolesFrom === 'table') await confirm();
    },
    async hasStaleToken() {
      const user = await readOnce();
      return !isOfAccount(user, caller) || isStale(user, caller);
    },
    async change(load, decide, targetUserOf = () => undefined) {
      /** The other user whose account this change is about. */
      let targetId: number | undefined;
      /** Ends the precedence over changes by that user. */
      let end = async (): Promise<void> => undefined;
      /**
       * Loads the caller's user and what the rule needs. Fails with unavailable while another
       * change has precedence over changes by the caller. A change of the account that has taken it
       * is exempt: of two administrators who change each other, neither is rejected, and none can
       * keep another one from deactivating it.
       */
      const loadUnlessPreceded = async () => {
        const callerUser = loadUser();
        const [user, loaded, { leftMs, takenBy }] = await settleAll([
          callerUser,
          load(callerUser),
          findPrecedence(table, caller.id),
        ]);
        const target = targetUserOf(loaded)?.id;
        if (leftMs > 0 && takenBy !== target)
          throw new Failure('unavailable', { retryAfter: Math.ceil(leftMs / 1000) });
        targetId = target === caller.id ? undefined : target;
        return [user, loaded] as const;
      };
      const onContention = async () => {
        if (targetId === undefined) return;
        const [id, until] = [targetId, await takePrecedence(table, targetId, caller.id)];
        if (until !== undefined) end = () => endPrecedence(table, id, until);
      };
      try {
        return await change(
          table,
          loadUnlessPreceded,
          ([callerUser, loaded], now) => {
            const { writes, result, event } = decide(loaded, callerUser, now);
            // A change without writes has no audit entry.
            if (writes.length === 0) return { writes, result };
            return {
              writes: [
                ...withCallerCondition(writes, callerUser, caller, access),
                auditEntry(callerUser, event, now),
              ],
              result,
            };
          },
          onContention,
        );
      } catch (error) {
        const isStale = error instanceof Failure && error.code === 'version-changed';
        if (isStale && targetId !== undefined)
          await takePrecedence(table, targetId, caller.id, AFTER_STALE_VERSION_MS);
        throw error;
      } finally {
        await end();
      }
    },
  };
}

/**
 * Adds the condition on the caller's item: as the first action, or to the write of that item if
 * there is one.
 */
function withCallerCondition(
  writes: readonly Write[],
  callerUser: User,
  caller: Caller,
  access: Access,
): Write[] {
  const { pk, sk } = entityKey('USER', caller.id);
  const stillAuthorized = callerStillAuthorized(callerUser, caller, access);
  const own = writes.findIndex(({ key }) => key.pk === pk && key.sk === sk);
  return own < 0
    ? [check({ pk, sk }, stillAuthorized), ...writes]
    : writes.map((write, position) =>
        position === own ? withCondition(write, stillAuthorized) : write,
      );
}
