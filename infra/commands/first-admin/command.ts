import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { email, login } from '../../../lib/users/user-schema.ts';
import {
  exitOnSignal,
  fail,
  finish,
  readArguments,
  rejectArguments,
  WRONG_ARGUMENTS,
} from '../command-line.ts';
import { explainError } from '../explain-error.ts';
import { requireAwsEnvironment } from '../require-aws-environment.ts';

/*
 * `npm run first-admin`: creates the first administrator of a deployed table with the operator's
 * AWS credentials.
 */

// Exit statuses.
const CREATED = 0;
const NOT_CREATED = 1;

const COMMAND = {
  usage: 'npm run first-admin -- --table NAME --login LOGIN --email ADDRESS',
  help: `Creates the first administrator of a deployed table, with the AWS credentials and the region of the environment,
and prints the password once. It refuses if the table already has an administrator.

--table NAME     the table, which the deployment prints as TableName
--login LOGIN    the login of the administrator
--email ADDRESS  the e-mail address of the administrator

Exit status
  ${CREATED}  the administrator was created
  ${NOT_CREATED}  the administrator was not created, or the outcome is unknown: the table did not respond, or the
     command was interrupted; it then prints the password that the account has if it exists
  ${WRONG_ARGUMENTS}  wrong arguments

docs/commands.md lists the permissions.`,
  options: { table: { type: 'string' }, login: { type: 'string' }, email: { type: 'string' } },
} as const;

const person = readPerson();
// After the arguments: the AWS SDK takes most of the start of a command.
const { KMSClient } = await import('@aws-sdk/client-kms');
const { PATIENT_SETTINGS, scannerClient } = await import('../../../lib/table/table-scanner.ts');
const { createFirstAdmin, unknownOutcome } = await import('./create-first-admin.ts');

try {
  requireAwsEnvironment();
} catch (error) {
  fail(explainError(error, person.table), NOT_CREATED);
}
const clients = { dynamodb: scannerClient(), kms: new KMSClient(PATIENT_SETTINGS) };
const password = randomBytes(15).toString('base64url');
exitOnSignal(NOT_CREATED, unknownOutcome('The command was interrupted', password));
await finish((await createFirstAdmin(clients, { ...person, password })) ? CREATED : NOT_CREATED);

function readPerson(): { table: string; login: string; email: string } {
  const { values } = readArguments(COMMAND);
  const required = (option: keyof typeof values): string =>
    values[option] ?? rejectArguments(`--${option} is missing.`, COMMAND);
  const person = { table: required('table'), login: required('login'), email: required('email') };
  if (!v.is(login, person.login))
    rejectArguments(
      '--login must have 1 to 50 letters, digits or characters of !$&*+=^_`{|}~.@-.',
      COMMAND,
    );
  if (!v.is(email, person.email)) rejectArguments('--email must be an e-mail address.', COMMAND);
  return person;
}
