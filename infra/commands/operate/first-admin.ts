import { randomBytes } from 'node:crypto';
import type { KMSClient } from '@aws-sdk/client-kms';
import * as v from 'valibot';
import { Failure } from '../../../lib/contract/failure.ts';
import { createFirstAdministrator } from '../../../lib/operations/administrators/first-administrator.ts';
import { recoverAdministrator } from '../../../lib/operations/administrators/recover-administrator.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import type { Table } from '../../../lib/table/table.ts';
import { email, login } from '../../../lib/users/user-schema.ts';
import { isReservedLogin } from '../../../lib/users/user-table.ts';
import { print, printError } from '../command-line.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';
import { refusalOf } from './refused-administrator.ts';

export const command = defineCommand({
  usage: `npm run admin -- first-admin --table NAME --login LOGIN
                            (--email ADDRESS | [--remove-second-factor] [--new-password])`,
  help: `Creates the first administrator of a deployed table, with the AWS credentials and the
region of the environment, and prints the password once. It refuses if the table already has an
administrator.

With --remove-second-factor, --new-password or both, it instead lets an existing administrator in
who has lost the second factor or the password, ends all their sessions and informs them by mail.

--table NAME            the table, which the deployment prints as TableName
--login LOGIN           the login of the administrator
--email ADDRESS         the e-mail address of the administrator to be created
--remove-second-factor  removes the second factor of the existing administrator
--new-password          sets a random password of the existing administrator, and prints it once`,
  options: {
    table: { type: 'string' },
    login: { type: 'string' },
    email: { type: 'string' },
    'remove-second-factor': { type: 'boolean', default: false },
    'new-password': { type: 'boolean', default: false },
  },
  required: ['table', 'login'],
  statuses: {
    done: [0, 'the administrator was created, or can log in again'],
    failed: [1, 'not done, or unknown: it then prints any password that the account may have'],
  },
  seeAlso: 'docs/commands.md lists the permissions.',
  async run({ values, openTable, openStackTable }) {
    const removesFactor = values['remove-second-factor'];
    const setsPassword = values['new-password'];
    if (removesFactor || setsPassword) {
      if (values.email !== undefined)
        throw new WrongArguments('--email is for a new administrator only: leave it out.');
      // Only a password needs the keys, which the tags of the table name.
      const stack = setsPassword ? await openStackTable() : undefined;
      const target = stack ? { ...stack, passwordKeys: stack } : await openTable();
      await recover(target, values.login, removesFactor);
      return 'done';
    }
    if (values.email === undefined) throw new WrongArguments('--email is missing.');
    if (!v.is(login, values.login))
      throw new WrongArguments(
        '--login must have 1 to 50 letters, digits or characters of !$&*+=^_`{|}~.@-.',
      );
    if (!v.is(email, values.email)) throw new WrongArguments('--email must be an e-mail address.');
    await create(await openStackTable(), { login: values.login, email: values.email });
    return 'done';
  },
});

interface Target {
  readonly tableName: string;
  readonly table: Table;
}
interface PasswordKeys {
  readonly pepperKeys: readonly string[];
  readonly kms: KMSClient;
}

async function create(
  { tableName, table, pepperKeys, kms }: Target & PasswordKeys,
  person: { readonly login: string; readonly email: string },
): Promise<void> {
  const { login, email } = person;
  if (isReservedLogin(login))
    throw new Error(
      `The login ${login} is reserved: it names the operator in the audit trail. ` +
        'Nothing was changed.',
    );
  const password = newPassword();
  const unknownOutcome = (reason: string) =>
    `${reason}, so the account may or may not exist. ` +
    `If it does, its password is ${password}; otherwise run the command again.`;
  const hasher = openHasher(pepperKeys, kms);
  const user = await printingIfInterrupted(unknownOutcome, () =>
    createFirstAdministrator(table, hasher, { login, email, password }).catch((error) => {
      if (!(error instanceof Failure)) throw error;
      const taken =
        (error.code === 'login-taken' && `login ${login}`) ||
        (error.code === 'email-taken' && `address ${email}`);
      throw new Error(
        taken
          ? `The ${taken} is taken. Nothing was changed.`
          : unknownOutcome('The table did not respond'),
      );
    }),
  );
  if (!user) throw new Error(`${tableName} already has an administrator. Nothing was changed.`);
  print(`${login} is now an administrator of ${tableName}.`);
  print(`Password: ${password}`);
  print('The password is shown only once and stored nowhere: log in and change it.');
}

async function recover(
  { tableName, table, passwordKeys }: Target & { readonly passwordKeys?: PasswordKeys },
  login: string,
  removesFactor: boolean,
): Promise<void> {
  const password = newPassword();
  const unknownOutcome = (reason: string) =>
    `${reason}, so the account may or may not be changed. ` +
    (passwordKeys
      ? `If it is, its password is ${password}; otherwise run the command again.`
      : 'Run the command again.');
  const hashPassword =
    passwordKeys && (() => openHasher(passwordKeys.pepperKeys, passwordKeys.kms).hash(password));
  const recovery = await printingIfInterrupted(unknownOutcome, () =>
    recoverAdministrator(table, login, { removesFactor, hashPassword }).catch((error) => {
      if (!(error instanceof Failure)) throw error;
      throw new Error(unknownOutcome('The table did not respond'));
    }),
  );
  if (recovery.outcome !== 'recovered') throw refusalOf(recovery, login, tableName);
  if (removesFactor) print(`The second factor of ${login} is removed.`);
  if (passwordKeys) {
    print(`Password: ${password}`);
    print('The password is shown only once and stored nowhere: log in and change it.');
  }
  print(`All sessions of ${login} have ended, and the user is informed by mail.`);
}

const newPassword = (): string => randomBytes(15).toString('base64url');

/** Prints the sentence if the process ends before `change` does: its outcome is unknown then. */
async function printingIfInterrupted<R>(
  unknownOutcome: (reason: string) => string,
  change: () => Promise<R>,
): Promise<R> {
  const printInterrupted = () => printError(unknownOutcome('The command was interrupted'));
  process.once('exit', printInterrupted);
  try {
    return await change();
  } finally {
    process.off('exit', printInterrupted);
  }
}
