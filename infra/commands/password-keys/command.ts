import { usersOf } from '../../../lib/transfer/entities.ts';
import {
  exitOnSignal,
  fail,
  finish,
  print,
  readArguments,
  reportProgress,
} from '../command-line.ts';
import { explainError } from '../explain-error.ts';

/* `npm run password-keys`: shows how far the replacement of the pepper key has come. */

// Exit statuses; wrong arguments end with NOT_COUNTED, too.
const REPLACED = 0;
const OTHERS_IN_USE = 1;
const NOT_COUNTED = 2;

const { table: name } = readArguments({
  usage: 'npm run password-keys -- [--table NAME]',
  help: `Counts the password hashes under each pepper key. A login rehashes the password under the first key.

--table NAME  a deployed table, with the AWS credentials and the region of the environment;
              without it, the table of the service that runs on STATE_DIR (default .local)

Exit status
  ${REPLACED}  no hash is under a key other than the first; those of imported users may be under none
  ${OTHERS_IN_USE}  some hashes are under other keys
  ${NOT_COUNTED}  the hashes could not be counted, or wrong arguments

docs/keys.md has the procedure, docs/commands.md lists the permissions.`,
  options: { table: { type: 'string' } },
}).values;
exitOnSignal(NOT_COUNTED);
// After the arguments: the AWS SDK takes most of the start of a command.
const { openStackTable } = await import('../stack-table.ts');
const { idOfKey } = await import('../../../lib/passwords/hasher.ts');
const { keyIdOf } = await import('../../../lib/passwords/passwords.ts');

await finish(await run().catch((error) => fail(explainError(error, name), NOT_COUNTED)));

async function run(): Promise<number> {
  const { name: tableName, table, pepperKeys } = await openStackTable(name);
  print(`Counting the password hashes in ${tableName}`);
  const [first = '', ...others] = pepperKeys.map(idOfKey);
  const byKey = new Map([first, ...others].map((key) => [key, 0]));
  let [users, bcrypt] = [0, 0];
  const onProgress = reportProgress('user');
  for await (const { id, passwordHash } of usersOf(table)) {
    onProgress(++users);
    if (!passwordHash) continue;
    const key = keyOf(id, passwordHash);
    if (key === undefined) bcrypt++;
    else byKey.set(key, (byKey.get(key) ?? 0) + 1);
  }
  for (const [key, hashes] of byKey) print(`${hashes} under the key ${key}${remarkOn(key)}`);
  if (bcrypt > 0)
    print(
      `${bcrypt} of imported users, under no key until a login or a new password replaces them`,
    );
  return [...byKey].some(([key, hashes]) => key !== first && hashes > 0) ? OTHERS_IN_USE : REPLACED;

  function remarkOn(key: string): string {
    if (key === first) return ', the first one';
    return others.includes(key)
      ? ''
      : ', which the stack does not have: these users must reset their passwords';
  }
}

function keyOf(userId: number, passwordHash: string): string | undefined {
  try {
    return keyIdOf(passwordHash);
  } catch (error) {
    throw new Error(`User ${userId}: ${(error as Error).message}.`);
  }
}
