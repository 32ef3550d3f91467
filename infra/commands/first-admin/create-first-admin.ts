import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { KMSClient } from '@aws-sdk/client-kms';
import { Failure } from '../../../lib/contract/failure.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import { openTable } from '../../../lib/table/table.ts';
import { createFirstAdministrator } from '../../../lib/users/first-administrator.ts';
import { isReservedLogin } from '../../../lib/users/user-table.ts';
import { print, printError } from '../command-line.ts';
import { explainError } from '../explain-error.ts';
import { tagsOf } from '../table-tags.ts';

interface Clients {
  readonly dynamodb: DynamoDBClient;
  readonly kms: KMSClient;
}

/** The account to create, and the table to create it in. */
interface Request {
  readonly table: string;
  readonly login: string;
  readonly email: string;
  readonly password: string;
}

/**
 * What an operator must know if the command ends for this reason before the response to the
 * transaction.
 */
export const unknownOutcome = (reason: string, password: string): string =>
  `${reason}, so the account may or may not exist. ` +
  `If it does, its password is ${password}; otherwise run the command again.`;

/**
 * Creates the first administrator and prints the password, or why there is none. Returns whether it
 * was created.
 */
export async function createFirstAdmin(
  { dynamodb, kms }: Clients,
  { table, login, email, password }: Request,
): Promise<boolean> {
  try {
    if (isReservedLogin(login))
      throw new Error(
        `The login ${login} is reserved: it names the operator in the audit trail. Nothing was changed.`,
      );
    const pepperKeys = await pepperKeysOf(dynamodb, table);
    const user = await createFirstAdministrator(
      openTable(table, dynamodb),
      openHasher(pepperKeys, kms),
      {
        login,
        email,
        password,
      },
    );
    if (!user) throw new Error(`${table} already has an administrator. Nothing was changed.`);
    print(`${user.login} is now an administrator of ${table}.`);
    print(`Password: ${password}`);
    print('The password is shown only once and stored nowhere: log in and change it.');
    return true;
  } catch (error) {
    printError(sentenceOf(error));
    return false;
  }

  function sentenceOf(error: unknown): string {
    if (!(error instanceof Failure)) return explainError(error, table);
    if (error.code === 'login-taken') return `The login ${login} is taken. Nothing was changed.`;
    if (error.code === 'email-taken') return `The address ${email} is taken. Nothing was changed.`;
    return unknownOutcome('The table did not respond', password);
  }
}

/** The stack records the ARNs of the keys that protect passwords in a tag of the table. */
async function pepperKeysOf(client: DynamoDBClient, table: string): Promise<string[]> {
  const keys = (await tagsOf(client, table))['gatehouse:pepper-key'];
  if (!keys)
    throw new Error(`${table} is not a Gatehouse table: it lacks the tag gatehouse:pepper-key.`);
  return keys.split(' ');
}
