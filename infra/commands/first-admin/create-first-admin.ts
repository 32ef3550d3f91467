import { randomBytes } from 'node:crypto';
import { Failure } from '../../../lib/contract/failure.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import { createFirstAdministrator } from '../../../lib/users/first-administrator.ts';
import { requireUnreservedLogin } from '../../../lib/users/user-table.ts';
import { print, printError } from '../command-line.ts';
import type { StackTable } from '../tables.ts';

/** Creates the first administrator and prints the password. */
export async function createFirstAdmin(
  { tableName, table, pepperKeys, kms }: StackTable,
  { login, email }: { readonly login: string; readonly email: string },
): Promise<void> {
  const password = randomBytes(15).toString('base64url');
  const unknownOutcome = (reason: string) =>
    `${reason}, so the account may or may not exist. ` +
    `If it does, its password is ${password}; otherwise run the command again.`;
  const printInterrupted = () => printError(unknownOutcome('The command was interrupted'));
  process.once('exit', printInterrupted);
  try {
    requireUnreservedLogin(login);
    const hasher = openHasher(pepperKeys, kms);
    const user = await createFirstAdministrator(table, hasher, { login, email, password });
    if (!user) throw new Error(`${tableName} already has an administrator. Nothing was changed.`);
    print(`${login} is now an administrator of ${tableName}.`);
    print(`Password: ${password}`);
    print('The password is shown only once and stored nowhere: log in and change it.');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const taken =
      (error.code === 'login-taken' && `login ${login} is reserved or`) ||
      (error.code === 'email-taken' && `address ${email} is`);
    throw new Error(
      taken
        ? `The ${taken} taken. Nothing was changed.`
        : unknownOutcome('The table did not respond'),
    );
  } finally {
    process.off('exit', printInterrupted);
  }
}
