import { print, reportProgress } from '../command-line.ts';
import { defineCommand } from '../define-command.ts';
import type { StackTable } from '../tables.ts';

/** `npm run password-keys`: shows how far the replacement of the pepper key has come. */
export const command = defineCommand({
  usage: 'npm run password-keys -- [--table NAME]',
  help: `Counts the password hashes under each pepper key. A login rehashes the password under the
first key.

--table NAME  a deployed table, with the AWS credentials and the region of the environment;
              without it, the table of the service that runs on STATE_DIR (default .local)`,
  options: { table: { type: 'string' } },
  statuses: {
    replaced: [
      0,
      'no hash is under a key other than the first; those of imported users may be under none',
    ],
    othersInUse: [1, 'some hashes are under other keys'],
    failed: [2, 'the hashes could not be counted'],
  },
  seeAlso: 'docs/keys.md has the procedure, docs/commands.md lists the permissions.',
  async run({ openStackTable }) {
    const table = await openStackTable();
    print(`Counting the password hashes in ${table.tableName}`);
    const { idOfKey } = await import('../../../lib/passwords/hasher.ts');
    const [first = '', ...others] = table.pepperKeys.map(idOfKey);
    const { byKey, bcrypt } = await countHashes(table, [first, ...others]);
    for (const [key, hashes] of byKey) print(`${hashes} under the key ${key}${remarkOn(key)}`);
    if (bcrypt > 0)
      print(
        `${bcrypt} of imported users, under no key until a login or a new password replaces them`,
      );
    const isReplaced = [...byKey].every(([key, hashes]) => key === first || hashes === 0);
    return isReplaced ? 'replaced' : 'othersInUse';

    function remarkOn(key: string): string {
      if (key === first) return ', the first one';
      return others.includes(key)
        ? ''
        : ', which the stack does not have: these users must reset their passwords';
    }
  },
});

/** The number of hashes under each of these keys and any other one, and of those under none. */
async function countHashes({ table }: StackTable, keys: readonly string[]) {
  const { keyIdOf } = await import('../../../lib/passwords/passwords.ts');
  const { usersOf } = await import('../../../lib/transfer/entities.ts');
  const byKey = new Map(keys.map((key) => [key, 0]));
  let [users, bcrypt] = [0, 0];
  const onProgress = reportProgress('user');
  for await (const { id, passwordHash } of usersOf(table)) {
    onProgress(++users);
    if (!passwordHash) continue;
    const key = keyOf(id, passwordHash);
    if (key === undefined) bcrypt++;
    else byKey.set(key, (byKey.get(key) ?? 0) + 1);
  }
  return { byKey, bcrypt };

  function keyOf(userId: number, passwordHash: string): string | undefined {
    try {
      return keyIdOf(passwordHash);
    } catch (error) {
      throw new Error(`User ${userId}: ${(error as Error).message}.`);
    }
  }
}
