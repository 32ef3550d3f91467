import { itemsOf } from '../../../lib/operations/transfer/entities.ts';
import { keyIdOf } from '../../../lib/passwords/passwords.ts';
import { idOfKey } from '../../../lib/runtime/kms.ts';
import { userOf } from '../../../lib/users/user-table.ts';
import { print, reportProgress } from '../command-line.ts';
import { defineCommand, STACK_TABLE_HELP } from '../define-command.ts';

export const command = defineCommand({
  usage: 'npm run admin -- password-keys [--table NAME]',
  help: `Counts the password hashes under each pepper key. A login rehashes the password under the
first key.

${STACK_TABLE_HELP}`,
  options: { table: { type: 'string' } },
  statuses: {
    replaced: [0, 'no hash is under a key other than the first; imported ones may be under none'],
    othersInUse: [1, 'some hashes are under other keys'],
    failed: [2, 'the hashes could not be counted'],
  },
  seeAlso: 'docs/keys.md has the procedure.',
  async run({ openStackTable }) {
    const { table, tableName, pepperKeys } = await openStackTable();
    print(`Counting the password hashes in ${tableName}`);
    const keys = pepperKeys.map(idOfKey);
    const hashes = new Map(keys.map((key) => [key, 0]));
    let [users, underNone] = [0, 0];
    const onProgress = reportProgress('user');
    for await (const item of itemsOf(table, 'USER')) {
      onProgress(++users);
      const { id, passwordHash } = userOf(item);
      if (!passwordHash) continue;
      const key = keyOf(id, passwordHash);
      if (key) hashes.set(key, (hashes.get(key) ?? 0) + 1);
      else underNone++;
    }
    for (const [key, count] of hashes) {
      const remark = key === keys[0] ? ', the first one' : '';
      const lost = ', which the stack does not have: these users must reset their passwords';
      print(`${count} under the key ${key}${keys.includes(key) ? remark : lost}`);
    }
    if (underNone > 0)
      print(`${underNone} of imported users, under no key until the next login or new password`);
    return [...hashes].every(([key, count]) => key === keys[0] || count === 0)
      ? 'replaced'
      : 'othersInUse';
  },
});

function keyOf(userId: number, passwordHash: string): string | undefined {
  try {
    return keyIdOf(passwordHash);
  } catch (error) {
    throw new Error(`User ${userId}: ${(error as Error).message}.`);
  }
}
