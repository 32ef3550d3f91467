import { randomBytes } from 'node:crypto';
import { Failure } from '../../../lib/contract/failure.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import { createFirstAdministrator } from '../../../lib/users/first-administrator.ts';
import { isReservedLogin } from '../../../lib/users/user-table.ts';
import { print, printError } from '../command-line.ts';
import type { StackTable } from '../tables.ts';

/** Creates the first administrator and prints the password. */
export async function createFirstAdmin(
  { tableName, table, pepperKeys, kms }: StackTable,
  { login, email }: { readonly login: string; readonly email: string },
): Promise<void> {
  if (isReservedLogin(login))
    throw new Error(
      `The login ${login} is reserved: it names the operator in the audit trail. ` +
        'Nothing was changed.',
    );
  const password = randomBytes(15).toString('base64url');
  const unknownOutcome = (reason: string) =>
    `${reason}, so the account may or may not exist. ` +
    `If it does, its password is ${password}; otherwise run the command again.`;
  const printInterrupted = () => printError(unknownOutcome('The command was interrupted'));
  process.once('exit', printInterrupted);
  try {
    const hasher = openHasher(pepperKeys, kms);
    const user = await createFirstAdministrator(table, hasher, { login, email, password });
    if (!user) throw new Error(`${tableName} already has an administrator. Nothing was changed.`);
    print(`${login} is now an administrator of ${tableName}.`);
    print(`Password: ${password}`);
    print('The password is shown only once and stored nowhere: log in and change it.');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const taken =
      (error.code === 'login-taken' && `login ${login}`) ||
      (error.code === 'email-taken' && `address ${email}`);
    throw new Error(
      taken
        ? `The ${taken} is taken. Nothing was changed.`
        : unknownOutcome('The table did not respond'),
    );
  } finally {
    process.off('exit', printInterrupted);
  }
}
