import { randomBytes } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';
import { Failure } from '../lib/contract/failure.ts';
import { createFirstAdministrator } from '../lib/users/first-administrator.ts';
import { email, login } from '../lib/users/user-schema.ts';
import { fail, print, readArguments, rejectArguments, WRONG_ARGUMENTS } from './command-line.ts';
import { explainError } from './explain-error.ts';
import { requireEndpointUrls } from './require-endpoint-urls.ts';

/* `npm run first-admin`: creates the first administrator of a deployed table with the operator's AWS credentials. */

// Exit status.
const NOT_CREATED = 1;

const COMMAND = {
  usage: 'npm run first-admin -- --table NAME --login LOGIN --email ADDRESS',
  help: `Creates the first administrator of a deployed table, with the AWS credentials and the region of the environment,
and prints the password once. It refuses if the table already has an administrator.

--table NAME     the table, which the deployment prints as TableName
--login LOGIN    the login of the administrator
--email ADDRESS  the e-mail address of the administrator

Exit status
  0  the administrator was created
  ${NOT_CREATED}  the administrator was not created, or the table did not respond and the outcome is unknown
  ${WRONG_ARGUMENTS}  wrong arguments

docs/operating.md lists the permissions.`,
  options: { table: { type: 'string' }, login: { type: 'string' }, email: { type: 'string' } },
} as const;

const person = readPerson();
// After the arguments: the AWS SDK takes most of the start of a command.
const { openHasher } = await import('../lib/passwords/hasher.ts');
const { openTable } = await import('../lib/table/table.ts');
const { scannerClient } = await import('../lib/table/table-scanner.ts');
const { tagsOf } = await import('./table-tags.ts');

const password = randomBytes(15).toString('base64url');
try {
  requireEndpointUrls();
  const client = scannerClient();
  const user = await createFirstAdministrator(
    openTable(person.table, client),
    openHasher(await pepperKeysOf(client, person.table)),
    { login: person.login, email: person.email, password },
  );
  if (!user) fail(`${person.table} already has an administrator. Nothing was changed.`, NOT_CREATED);
  print(`${user.login} is now an administrator of ${person.table}.`);
  print(`Password: ${password}`);
  print('The password is shown only once and stored nowhere: log in and change it.');
} catch (error) {
  fail(sentenceOf(error), NOT_CREATED);
}

function readPerson(): { table: string; login: string; email: string } {
  const { values } = readArguments(COMMAND);
  const required = (option: keyof typeof values): string =>
    values[option] ?? rejectArguments(`--${option} is missing.`, COMMAND);
  const person = { table: required('table'), login: required('login'), email: required('email') };
  if (!v.is(login, person.login))
    rejectArguments('--login must have 1 to 50 letters, digits or characters of !$&*+=^_`{|}~.@-.', COMMAND);
  if (!v.is(email, person.email)) rejectArguments('--email must be an e-mail address.', COMMAND);
  return person;
}

/** The stack records the ARNs of the keys that protect passwords in a tag of the table. */
async function pepperKeysOf(client: DynamoDBClient, table: string): Promise<string[]> {
  const key = (await tagsOf(client, table)).get('gatehouse:pepper-key');
  return (
    key?.split(' ') ?? fail(`${table} is not a Gatehouse table: it lacks the tag gatehouse:pepper-key.`, NOT_CREATED)
  );
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof Failure)) return explainError(error, person.table);
  if (error.code === 'login-taken') return `The login ${person.login} is taken. Nothing was changed.`;
  if (error.code === 'email-taken') return `The address ${person.email} is taken. Nothing was changed.`;
  return (
    'The table did not respond, so the account may or may not exist. ' +
    `If it does, its password is ${password}; otherwise run the command again.`
  );
}
