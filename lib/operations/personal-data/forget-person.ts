import { isDeepStrictEqual } from 'node:util';
import { auditEntry, type Change, forgottenName, operator } from '../../audit/audit-entry.ts';
import { integrationChangedUnseen, integrationOf } from '../../integrations/integration-table.ts';
import { mapConcurrently } from '../../runtime/waiting.ts';
import { loadDecideCommit } from '../../table/change.ts';
import { entityKey, type Key, type Kind } from '../../table/keys.ts';
import type { Item, Table } from '../../table/table.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import {
  attributesAre,
  EXISTS,
  nextVersion,
  remove,
  set,
  versionIs,
  type Write,
} from '../../table/write.ts';
import { PERSONAL_USER_FIELDS } from '../../users/user.ts';
import { auditEventFor, deletion, findUser, userChanges, userOf } from '../../users/user-table.ts';
import { kindOf } from '../item-kinds.ts';
import { findPersonalItems, type Person } from './personal-data.ts';

/** Few, because the service writes its own audit entries to the same partition meanwhile. */
const CONCURRENT_CHANGES_MAX = 4;

/** What has changed, and what had to stay. */
export interface Forgotten {
  readonly deletedItems: number;
  readonly auditEntries: number;
  readonly users: number;
  readonly integrations: number;
  /** The former logins that another account has now, so that what names them stays. */
  readonly loginsOfOthers: readonly string[];
}

/**
 * Deletes an account, if there is one, as the operator. Its entry in the audit trail does not
 * expire, so a second run of `forgetPerson` finds the login there. Fails with last-administrator
 * and unavailable.
 */
export function deleteAccount(table: Table, id: number): Promise<void> {
  return loadDecideCommit(
    table,
    () => findUser(table, id),
    (user, now) => {
      if (!user) return { writes: [], result: undefined };
      const event = auditEventFor('user.deleted', user, userChanges(user, undefined));
      const entry = auditEntry(operator('person'), event, now);
      return { writes: [...deletion(user, []), entry], result: undefined };
    },
  );
}

/**
 * Replaces the logins of a deleted account wherever the table has them, and deletes the other items
 * about its user. Can be repeated: the audit entries come last, because they tell a second run
 * which logins the account had. Fails with unavailable, or with SDK errors.
 */
export async function forgetPerson(
  table: Table,
  scanner: TableScanner,
  person: Person,
  onProgress?: (items: number) => void,
): Promise<Forgotten> {
  const found = await findPersonalItems(table, scanner, person, onProgress);
  const { logins, own, authored, auditEntries, loginsOfOthers } = found;
  const name = forgottenName(person.id);
  const changeAll = async (keys: readonly Key[], decide: (item: Item) => readonly Write[]) => {
    const changed = await mapConcurrently(keys, CONCURRENT_CHANGES_MAX, ({ pk, sk }) =>
      changeItem(table, { pk, sk }, decide),
    );
    return changed.filter(Boolean).length;
  };
  const inKind = (kind: Kind) => authored.map(({ key }) => key).filter(({ pk }) => pk === kind);
  return {
    deletedItems: await changeAll(
      own.filter((item) => kindOf(item)?.onForget === 'delete'),
      ({ pk, sk }) => [remove({ pk, sk }, EXISTS)],
    ),
    users: await changeAll(inKind('USER'), (item) => renamedAuthors(item, logins, name)),
    integrations: await changeAll(inKind('INTEGRATION'), (item) =>
      renamedCreators(item, logins, name),
    ),
    auditEntries: await changeAll(auditEntries, (item) => renamedEntry(item, person.id, name)),
    loginsOfOthers,
  };
}

/** Applies the writes that the present state of an item requires. False if there are none. */
const changeItem = (
  table: Table,
  key: Key,
  decide: (item: Item) => readonly Write[],
): Promise<boolean> =>
  loadDecideCommit(
    table,
    () => table.get(key),
    (item) => {
      const writes = item ? decide(item) : [];
      return { writes, result: writes.length > 0 };
    },
  );

function renamedAuthors(item: Item, logins: ReadonlySet<string>, name: string): Write[] {
  const { id, version, createdBy, lastModifiedBy } = userOf(item);
  const after = {
    ...(logins.has(createdBy) && { createdBy: name }),
    ...(logins.has(lastModifiedBy) && { lastModifiedBy: name }),
    // Clients see the fields, so what they have cached is out of date.
    version: nextVersion(version),
  };
  return [set(entityKey('USER', id), after, versionIs({ version }))];
}

function renamedCreators(item: Item, logins: ReadonlySet<string>, name: string): Write[] {
  const before = integrationOf(item);
  const credentials = before.credentials?.map((credential) =>
    logins.has(credential.createdBy) ? { ...credential, createdBy: name } : credential,
  );
  return [integrationChangedUnseen(before, { ...before, credentials })];
}

/**
 * What the person has changed about others stays. The address of a request without a token can be
 * the person's.
 */
function renamedEntry(item: Item, id: number, name: string): Write[] {
  const { pk, sk, actor, actorId, target, targetName } = item;
  const changes = item.changes as readonly Change[] | undefined;
  const isTarget = target === `user/${id}`;
  const isActor = actorId === id || (isTarget && actorId === 0);
  const renamed = {
    ...(actorId === id && { actor: name }),
    ...(isActor && { source: undefined }),
    ...(isTarget && { targetName: name }),
    ...(isTarget && changes && { changes: changes.map((change) => impersonal(change, name)) }),
  };
  const isForgotten = Object.entries(renamed).every(([key, value]) =>
    isDeepStrictEqual(item[key], value),
  );
  if (isForgotten) return [];
  return [set({ pk, sk }, renamed, attributesAre({ actor, targetName }))];
}

const impersonal = (change: Change, name: string): Change =>
  [...PERSONAL_USER_FIELDS, 'subject'].includes(change.field)
    ? {
        field: change.field,
        ...(change.from !== undefined && { from: name }),
        ...(change.to !== undefined && { to: name }),
      }
    : change;
