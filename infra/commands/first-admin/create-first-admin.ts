import { randomBytes } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { Failure } from '../../../lib/contract/failure.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import { openTable } from '../../../lib/table/table.ts';
import { PATIENT_SETTINGS } from '../../../lib/table/table-scanner.ts';
import { createFirstAdministrator } from '../../../lib/users/first-administrator.ts';
import { isReservedLogin } from '../../../lib/users/user-table.ts';
import { print, printError } from '../command-line.ts';
import { tagsOf } from '../table-tags.ts';
import type { TableConnection } from '../tables.ts';

/** Creates the first administrator and prints the password. */
export async function createFirstAdmin(
  { tableName, client }: TableConnection,
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
    const pepperKeys = await pepperKeysOf({ tableName, client });
    const user = await createFirstAdministrator(
      openTable(tableName, client),
      openHasher(pepperKeys, new KMSClient(PATIENT_SETTINGS)),
      { login, email, password },
    );
    if (!user) throw new Error(`${tableName} already has an administrator. Nothing was changed.`);
    print(`${user.login} is now an administrator of ${tableName}.`);
    print(`Password: ${password}`);
    print('The password is shown only once and stored nowhere: log in and change it.');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.code === 'login-taken')
      throw new Error(`The login ${login} is taken. Nothing was changed.`);
    if (error.code === 'email-taken')
      throw new Error(`The address ${email} is taken. Nothing was changed.`);
    throw new Error(unknownOutcome('The table did not respond'));
  } finally {
    process.off('exit', printInterrupted);
  }
}

/** The stack records the ARNs of the keys that protect passwords in a tag of the table. */
async function pepperKeysOf({
  tableName,
  client,
}: Pick<TableConnection, 'tableName' | 'client'>): Promise<string[]> {
  const keys = (await tagsOf(client, tableName))['gatehouse:pepper-key'];
  if (!keys)
    throw new Error(
      `${tableName} is not a Gatehouse table: it lacks the tag gatehouse:pepper-key.`,
    );
  return keys.split(' ');
}
