import * as v from 'valibot';
import { email, login } from '../../../lib/users/user-schema.ts';
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
    const { createFirstAdmin } = await import('./create-first-admin.ts');
    await createFirstAdmin(await openStackTable(), values);
    return 'created';
  },
});
