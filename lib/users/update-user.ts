import { changedFields, type Deed } from '../audit/audit-entry.ts';
import { Failure } from '../failure.ts';
import type { Decision } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import { demandVersion, type ExpectedVersions, nextVersion } from '../version.ts';
import { type Caller, changeAs } from './caller.ts';
import type { User } from './user.ts';
import { UpdateUser } from './user-contracts.ts';
import type { UserChange } from './user-schema.ts';
import { deedOn, findUser, modification } from './user-table.ts';

/** What users and administrators can change of an account. */
const SHOWN = ['login', 'email', 'firstName', 'lastName', 'imageUrl', 'activated', 'langKey', 'authorities'] as const;

/**
 * Changes an account; what the change leaves out stays.
 * Fails with unknown-id, version-changed, login-taken, email-taken, last-administrator, forbidden.
 */
export function updateUser(
  table: Table,
  caller: Caller,
  wanted: UserChange,
  expected: ExpectedVersions,
): Promise<User> {
  return changeAs(
    table,
    caller,
    UpdateUser.who,
    () => findUser(table, wanted.id),
    (target, self) => {
      if (!target) throw new Failure('unknown-id');
      demandVersion(target, expected);
      return modify('user.updated', target, wanted, self.login);
    },
  );
}

/** The decision to change a user's visible fields, on whose behalf and when. */
export function modify(
  action: 'user.updated' | 'account.updated',
  target: User,
  fields: Partial<User>,
  modifiedBy: string,
): Decision<User> & { deed: Deed } {
  const after: User = {
    ...target,
    ...fields,
    id: target.id,
    version: nextVersion(target.version),
    lastModifiedBy: modifiedBy,
    lastModifiedDate: new Date().toISOString(),
  };
  const deed = deedOn(action, target, changedFields(target, after, SHOWN));
  return { writes: modification(target, after), result: after, deed };
}
