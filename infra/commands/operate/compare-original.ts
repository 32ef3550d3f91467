import type { Change } from '../../../lib/audit/audit-entry.ts';
import type { ListedEntry } from '../../../lib/audit/read-audits.ts';
import {
  findChangedAccess,
  voidPasswords,
} from '../../../lib/operations/restore/former-passwords.ts';
import { lostChanges } from '../../../lib/operations/restore/lost-changes.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import type { Table } from '../../../lib/table/table.ts';
import { print } from '../command-line.ts';
import { namingTable } from '../explain-error.ts';
import type { TableConnection } from '../tables.ts';

/**
 * Compares a restored table with its original, and changes nothing. Throws a sentence if they
 * cannot be compared. Returns a function that voids the passwords of accounts whose access has
 * changed since the backup, and lists the changes to be repeated by hand.
 */
export async function compareOriginal(
  { tableName, table }: TableConnection,
  original: Table,
  name: string,
): Promise<() => Promise<void>> {
  // The restored table exists: its settings have been read.
  const changed = await findChangedAccess(table, original).catch(namingTable(name));
  if (!changed)
    throw new Error(`${name} is not the original of ${tableName}: they have no account in common.`);
  const lost = await lostChanges(table, original, Date.now());

  return async () => {
    const voided = await voidPasswords(table, changed);
    print(`Voided ${counted(voided, 'password')}, whose users must request a reset by mail`);
    print(`Changes in ${name} since the backup, which are undone: ${lost.length}`);
    for (const entry of lost) print(`  ${describe(entry)}`);
  };
}

/** Names and values are JSON, because they can contain any character. */
function describe({ time, actor, action, target, targetName, changes }: ListedEntry): string {
  const values = changes ? ` ${JSON.stringify(changes.map(inOrder))}` : '';
  return `${time} ${actor}: ${action} ${target} ${JSON.stringify(targetName)}${values}`;
}

/** The parts of a change as they are read; DynamoDB returns them in any order. */
const inOrder = ({ field, from, to, added, removed }: Change): Change =>
  Object.fromEntries(
    Object.entries({ field, from, to, added, removed }).filter(([, part]) => part !== undefined),
  ) as unknown as Change;
