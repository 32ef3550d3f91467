import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { filterableFields } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import { canonical } from '../contract/fields.ts';
import { type ListQuery, listQuery } from '../contract/list-query.ts';
import { isReadable } from '../table/keys.ts';
import type { Collection } from '../table/list.ts';
import type { AuthorizedCaller } from './caller.ts';
import { ADMINISTRATOR_FIELDS, standingOf, tokensExpire, USER_FIELDS, type User } from './user.ts';
import { loginGuardKey } from './user-items.ts';
import { userForAdministrators } from './user-schema.ts';
import { guardKeyOf, userOf } from './user-table.ts';

/** GET /api/users */
export const ListUsers = {
  tag: 'Users',
  entityName: 'userManagement',
  summary: 'List users',
  access: 'authenticated',
  scope: 'read',
  query: listQuery(
    { ...filterableFields({ ...USER_FIELDS, ...ADMINISTRATOR_FIELDS }), text: 'search' },
    { others: Object.keys(USER_FIELDS) },
  ),
  headers: ['Link'],
  optionalHeaders: ['X-Total-Count'],
  response: v.array(userForAdministrators),
  failures: ['forbidden', 'read-budget-spent', 'list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;

/**
 * Fails with forbidden if a filter or the order would tell the caller what only administrators see.
 */
export async function requireSelectable(
  caller: AuthorizedCaller,
  { filters, sort }: ListQuery,
): Promise<void> {
  const tells = [...filters, ...sort].some(({ field }) => field in ADMINISTRATOR_FIELDS);
  if (tells && !(await caller.isAdministrator())) throw new Failure('forbidden');
}

/** A user as lists filter and sort it. */
interface ListedUser extends Omit<User, 'secondFactor'> {
  readonly secondFactor: boolean;
  readonly state: ReturnType<typeof standingOf>['state'];
  readonly tokensExpire: string | undefined;
  /** What a person would look for. */
  readonly text: readonly string[];
}

function listedUser(user: User, now: number): ListedUser {
  const { login, email, firstName, lastName } = user;
  return {
    ...user,
    secondFactor: user.secondFactor !== undefined,
    state: standingOf(user, now).state,
    tokensExpire: tokensExpire(user, now) ?? undefined,
    text: [login, email, [firstName, lastName].join(' ')],
  };
}

/** All users; a filter for one login or address reads only the users that can have it. */
export const USERS: Collection<ListedUser> = {
  kind: 'USER',
  entityOf: (item) => listedUser(userOf(item), Date.now()),
  unitsPerEntity: 0.11,
  keysToIds(filters) {
    const unique = filters.find(
      ({ field, operator }) => operator === 'equals' && field in KEY_OF_VALUE,
    );
    if (!unique) return undefined;
    const keyOf = KEY_OF_VALUE[unique.field as keyof typeof KEY_OF_VALUE];
    const key = keyOf(String(unique.operands[0]));
    return isReadable(key) ? [key] : [];
  },
};

/** The key of the item that has the id of the user with a value, by the field. */
const KEY_OF_VALUE = {
  login: (login: string) => loginGuardKey(canonical(login)),
  email: guardKeyOf,
};
