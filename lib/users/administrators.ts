import type { Write } from '../table/write.ts';
import type { User } from './user.ts';
import { rosterKey } from './user-items.ts';

/*
 * The roster is the set of ids of all activated users with ROLE_ADMIN; at least one must always
 * remain. A prior read cannot guarantee this: two administrators who remove each other concurrently
 * both still read two. The condition is therefore on the roster item, in the transaction that
 * removes an administrator.
 */

/** Whether a user is an administrator, which requires both ROLE_ADMIN and activation. */
export function administers(user: Pick<User, 'activated' | 'authorities'> | undefined): boolean {
  return user?.activated === true && user.authorities.includes('ROLE_ADMIN');
}

/**
 * The roster write for a change of one user; empty unless the user becomes or ceases to be an
 * administrator.
 */
export function membership(before: User | undefined, after: User | undefined): Write[] {
  if (before && administers(before) && !administers(after)) return [leaveRoster(before.id)];
  if (after && administers(after) && !administers(before)) return [joinRoster(after.id)];
  return [];
}

/**
 * Removes a deleted, demoted or deactivated administrator. Fails with last-administrator if no
 * other remains.
 */
export function leaveRoster(id: number): Write {
  return {
    act: 'Update',
    key: rosterKey,
    update: 'DELETE #ids :set',
    condition: 'size(#ids) > :one',
    names: { '#ids': 'ids' },
    values: { ':set': new Set([id]), ':one': 1 },
    onConditionFailed: 'last-administrator',
  };
}

/** Adds an administrator to the roster. */
export function joinRoster(id: number): Write {
  return {
    act: 'Update',
    key: rosterKey,
    update: 'ADD #ids :set',
    names: { '#ids': 'ids' },
    values: { ':set': new Set([id]) },
  };
}
