import { Failure } from '../contract/failure.ts';
import { notified } from '../mail/outbox.ts';
import { logError } from '../runtime/log.ts';
import { commitWithRetries } from '../table/change.ts';
import { listPage } from '../table/list.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import { type Precondition, requireVersion } from '../table/write.ts';
import { type AuthorizedCaller, needsSession, requireSession } from '../users/caller.ts';
import { USERS } from '../users/list-users.ts';
import { modify } from '../users/update-user.ts';
import type { User } from '../users/user.ts';
import { isLogin } from '../users/user-schema.ts';
import { findUser, findUserByEmail, findUserByLogin } from '../users/user-table.ts';
import {
  LIST_SCHEMA,
  type ScimListQuery,
  type ScimUser,
  USER_SCHEMA,
  USERS_PATH,
} from './scim-contracts.ts';

/** A user as a resource of SCIM. */
export const scimUserOf = (user: Omit<User, 'secondFactor'>): ScimUser => ({
  schemas: [USER_SCHEMA],
  id: String(user.id),
  userName: user.login,
  ...((user.firstName || user.lastName) && {
    name: { givenName: user.firstName, familyName: user.lastName },
  }),
  active: user.activated,
  emails: [{ value: user.email, type: 'work', primary: true }],
  meta: {
    resourceType: 'User',
    created: user.createdDate,
    lastModified: user.lastModifiedDate,
    location: `${USERS_PATH}/${user.id}`,
    version: `"${user.version}"`,
  },
});

/**
 * A page of all users, or of the one whom a filter names. Fails with read-budget-spent and
 * page-too-deep.
 */
export async function listScimUsers(
  table: Table,
  caller: AuthorizedCaller,
  { filter, startIndex, count }: ScimListQuery,
) {
  if (filter !== undefined) {
    await caller.requireAuthorized();
    const user = await findNamed(table, filter);
    const found = user ? [user] : [];
    return listOf(found.slice(startIndex - 1).slice(0, count), found.length, startIndex);
  }
  // Clients ask for whole pages only, or for none, to learn the total.
  const page = count === 0 ? 0 : Math.floor((startIndex - 1) / count);
  const { entities, total } = await listPage(
    { ...USERS, table, budget: readBudget(table, caller) },
    { page, size: count, sort: [], filters: [], parameters: [], after: undefined },
  );
  return listOf(entities, total, page * count + 1);
}

const listOf = (
  users: readonly Parameters<typeof scimUserOf>[0][],
  totalResults: number | undefined,
  startIndex: number,
) => ({
  schemas: [LIST_SCHEMA],
  totalResults,
  startIndex,
  itemsPerPage: users.length,
  Resources: users.map(scimUserOf),
});

/**
 * The user with this login, or else with this address: the names that identity providers have are
 * often addresses, and a user who is not found stays active.
 */
async function findNamed(table: Table, name: string): Promise<User | undefined> {
  const user = isLogin(name) ? await findUserByLogin(table, name) : undefined;
  return user ?? findUserByEmail(table, name);
}

/**
 * Activates or deactivates a user, as an update does; undefined changes nothing. Fails with
 * not-found, version-changed, last-administrator, forbidden, and with insufficient-scope for an API
 * token that activates an administrator. The last administrator, whom the identity provider wanted
 * to deactivate, is notified.
 */
export async function setActive(
  table: Table,
  caller: AuthorizedCaller,
  {
    id,
    active,
    precondition,
  }: {
    readonly id: number;
    readonly active?: boolean | undefined;
    readonly precondition: Precondition;
  },
): Promise<User> {
  let target: User | undefined;
  try {
    return await caller.change({
      loadEarly: () => findUser(table, id),
      decide: ({ loaded, callerUser, now }) => {
        // Of one moment: what changes nothing is not confirmed by a transaction.
        const user = loaded?.id === callerUser.id ? callerUser : loaded;
        if (!user) throw new Failure('not-found');
        requireVersion(user, precondition);
        const activated = active ?? user.activated;
        if (activated === user.activated) return { writes: [], result: user, event: [] };
        target = user;
        if (needsSession(user, { ...user, activated })) requireSession(caller);
        return modify('user.updated', user, { activated }, { modifier: callerUser, now });
      },
    });
  } catch (error) {
    const isLast = error instanceof Failure && error.code === 'last-administrator';
    if (isLast && target) await notify(table, target);
    throw error;
  }
}

/** Never fails: the request is refused either way. */
const notify = (table: Table, user: User): Promise<void> =>
  commitWithRetries(table, (now) => [notified('deactivationRefused', user, now)]).catch((error) =>
    logError('noticeNotWritten', error),
  );
