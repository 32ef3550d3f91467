import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { Failure } from '../../../lib/contract/failure.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import { createFirstAdministrator } from '../../../lib/users/first-administrator.ts';
import { email, login } from '../../../lib/users/user-schema.ts';
import { isReservedLogin } from '../../../lib/users/user-table.ts';
import { print, printError } from '../command-line.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';

/** `npm run first-admin`: creates the first administrator of a deployed table. */
export const command = defineCommand({
  usage: 'npm run first-admin -- --table NAME --login LOGIN --email ADDRESS',
  help: `Creates the first administrator of a deployed table, with the AWS credentials and the
region of the environment, and prints the password once. It refuses if the table already has an
administrator.

--table NAME     the table, which the deployment prints as TableName
--login LOGIN    the login of the administrator
--email ADDRESS  the e-mail address of the administrator`,
  options: { table: { type: 'string' }, login: { type: 'string' }, email: { type: 'string' } },
  required: ['table', 'login', 'email'],
  statuses: {
    created: [0, 'the administrator was created'],
    failed: [1, 'not created, or unknown: it then prints the password that the account would have'],
  },
  seeAlso: 'docs/commands.md lists the permissions.',
  async run({ values, openStackTable }) {
    if (!v.is(login, values.login))
      throw new WrongArguments(
        '--login must have 1 to 50 letters, digits or characters of !$&*+=^_`{|}~.@-.',
      );
    if (!v.is(email, values.email)) throw new WrongArguments('--email must be an e-mail address.');
    const { tableName, table, pepperKeys, kms } = await openStackTable();
    if (isReservedLogin(values.login))
      throw new Error(
        `The login ${values.login} is reserved: it names the operator in the audit trail. ` +
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
      const user = await createFirstAdministrator(table, hasher, { ...values, password });
      if (!user) throw new Error(`${tableName} already has an administrator. Nothing was changed.`);
      print(`${values.login} is now an administrator of ${tableName}.`);
      print(`Password: ${password}`);
      print('The password is shown only once and stored nowhere: log in and change it.');
      return 'created';
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const taken =
        (error.code === 'login-taken' && `login ${values.login}`) ||
        (error.code === 'email-taken' && `address ${values.email}`);
      throw new Error(
        taken
          ? `The ${taken} is taken. Nothing was changed.`
          : unknownOutcome('The table did not respond'),
      );
    } finally {
      process.off('exit', printInterrupted);
    }
  },
});
