import { rosterKey } from '../table/keys.ts';
import type { Write } from '../table/write.ts';
import type { User } from './user.ts';

/*
 * The roster: the set of the ids of all activated holders of ROLE_ADMIN. At least one must always remain, which nobody
 * can see by reading: two who remove each other both still see two. So the condition stands on the roster itself, in
 * the transaction that takes one away.
 */

/** Whether a user administers: holds ROLE_ADMIN and is activated: a deactivated administrator is none. */
export function administers(user: Pick<User, 'activated' | 'authorities'> | undefined): boolean {
  return user?.activated === true && user.authorities.includes('ROLE_ADMIN');
}

/** What a change of one user means for the roster; nothing, unless the user starts or stops to administer. */
export function membership(before: User | undefined, after: User | undefined): Write[] {
  if (before && administers(before) && !administers(after)) return [leaveRoster(before.id)];
  if (after && administers(after) && !administers(before)) return [joinRoster(after.id)];
  return [];
}

/** Protects the last administrator, whether against deletion, demotion or deactivation. */
export function leaveRoster(id: number): Write {
  return {
    act: 'Update',
    key: rosterKey,
    update: 'DELETE #ids :set',
    condition: 'contains(#ids, :id) AND size(#ids) > :one',
    names: { '#ids': 'ids' },
    values: { ':set': new Set([id]), ':id': id, ':one': 1 },
    onConditionFailed: 'last-administrator',
  };
}

/** Puts an administrator on the roster. */
export function joinRoster(id: number): Write {
  return {
    act: 'Update',
    key: rosterKey,
    update: 'ADD #ids :set',
    names: { '#ids': 'ids' },
    values: { ':set': new Set([id]) },
  };
}
