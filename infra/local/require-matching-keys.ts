import { rosterKey } from '../../lib/users/user-items.ts';
import { findUser } from '../../lib/users/user-table.ts';
import { KEYS_FILE, type StoredKey } from './aws/kms.ts';
import { operatorsTable, type ServedTable } from './operators-table.ts';
import type { CloudOptions } from './running-stack.ts';
import { startOver } from './state/files.ts';
import { readJson } from './state/state.ts';

/**
 * Fails if passwords in the table were hashed with a key that the state does not have, not with one
 * that `pepperKeys` in the settings no longer lists.
 */
export async function requireMatchingKeys(
  served: ServedTable,
  options: CloudOptions,
): Promise<void> {
  const table = operatorsTable(served);
  const keys = readJson<Record<string, StoredKey>>(options.state, KEYS_FILE) ?? {};
  const keyIds = Object.values(keys).map(({ id }) => id);
  const { ids = new Set() } = ((await table.get(rosterKey)) ?? {}) as { ids?: ReadonlySet<number> };
  for (const id of ids) {
    const [, usedKeyId] =
      /keyid=([\w.-]+)/.exec((await findUser(table, id))?.passwordHash ?? '') ?? [];
    if (usedKeyId && !keyIds.includes(usedKeyId)) throw new Error(mismatch(served, options));
  }
}

function mismatch(
  { tableName }: ServedTable,
  { engineUrl, state: { folder = 'memory' } }: CloudOptions,
): string {
  const keys = `keys other than those in ${folder}/${KEYS_FILE}`;
  return engineUrl
    ? `The table ${tableName} at ${engineUrl} was created with ${keys}: set STATE_DIR to the ` +
        'folder of its keys, or restart the engine without its data.'
    : `The table in ${folder} was created with ${keys}: ${startOver(folder)}.`;
}
