import { forgottenName } from '../../../lib/audit/audit-entry.ts';
import { Failure } from '../../../lib/contract/failure.ts';
import {
  deleteAccount,
  forgetPerson,
} from '../../../lib/operations/personal-data/forget-person.ts';
import {
  findPersonalItems,
  PERSONAL_ATTRIBUTES,
  personalData,
} from '../../../lib/operations/personal-data/personal-data.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import type { Table } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import type { User } from '../../../lib/users/user.ts';
import { findUser, findUserByLogin } from '../../../lib/users/user-table.ts';
import { print, printError, reportProgress } from '../command-line.ts';
import { defineCommand, TABLE_HELP, type ValuesOf, WrongArguments } from '../define-command.ts';
import type { TableConnection } from '../tables.ts';

const options = {
  table: { type: 'string' },
  login: { type: 'string' },
  id: { type: 'string' },
  forget: { type: 'boolean', default: false },
} as const;
type PersonOptions = ValuesOf<typeof options>;

export const command = defineCommand({
  usage:
    'npm run admin -- person [--table NAME] (--login LOGIN | --id ID [--login LOGIN]) [--forget]',
  help: `Prints as JSON what the table has about one person: account, sessions, mails that were not
sent, audit entries by and about the person with their addresses, and what names the login.
Passwords, keys and the secrets of second factors are not printed.

With --forget, it deletes the account instead, by the rules of the service, and what the table has
about the person. In the audit trail and wherever a login is named, deleted-ID replaces it. It can
be repeated with --id, after an interruption or in a table that was restored.

${TABLE_HELP}
--login LOGIN  the login of the account; with --id, one that a deleted account had
--id ID        the id of a user, also of one whose account is deleted
--forget       deletes and replaces, which only a backup undoes`,
  options,
  statuses: {
    done: [0, 'the data was printed, or nothing is left that --forget deletes'],
    failed: [1, 'there is no such account, it must stay, or the command was not completed'],
  },
  seeAlso: "docs/operating.md explains what remains when a person's data is deleted.",
  async run({ values, openTable, explain }) {
    const id = idIn(values);
    const connection = await openTable();
    const user = await findAccount(connection, values, id);
    const person = {
      id: user?.id ?? (id as number),
      login: user?.login ?? values.login,
      email: user?.email,
    };
    const { tableName, client, table } = connection;
    const scanner = openTableScanner(PERSONAL_ATTRIBUTES, tableName, client);
    const onProgress = reportProgress('item', ' read');
    if (!values.forget) {
      const items = await findPersonalItems(table, scanner, person, onProgress);
      print(JSON.stringify(personalData(person.id, user, items), undefined, 2));
      return 'done';
    }
    const again = `run the command again with --id ${person.id} --forget.`;
    print(`Forgetting user ${person.id} of ${tableName}`);
    await deleteOrExplain(table, person.id, again);
    print(user ? `User ${person.id} is deleted` : `User ${person.id} has no account`);
    try {
      printForgotten(await forgetPerson(table, scanner, person, onProgress), person.id);
      return 'done';
    } catch (error) {
      throw new Error(`${explain(error)} Not everything is replaced: ${again}`);
    }
  },
});

function idIn({ id, login }: PersonOptions): number | undefined {
  if (id === undefined && login === undefined)
    throw new WrongArguments('--login or --id is missing.');
  if (id !== undefined && !/^[1-9]\d{0,14}$/.test(id))
    throw new WrongArguments('--id must be the id of a user.');
  return id === undefined ? undefined : Number(id);
}

/** The account of the arguments; undefined if the account of the id is deleted. */
async function findAccount(
  { tableName, table }: TableConnection,
  { login, forget }: PersonOptions,
  id: number | undefined,
): Promise<User | undefined> {
  if (id === undefined) {
    const user = await findUserByLogin(table, login as string);
    if (user) return user;
    throw new Error(
      `${tableName} has no account ${login}. If it is deleted, add --id: the audit trail has it.`,
    );
  }
  const user = await findUser(table, id);
  // The wrong id must delete nobody.
  if (user && login !== user.login && (forget || login !== undefined))
    throw new Error(`User ${id} has an account: add --login ${user.login} if that is the person.`);
  return user;
}

const deleteOrExplain = (table: Table, id: number, again: string) =>
  deleteAccount(table, id).catch((error) => {
    if (!(error instanceof Failure)) throw error;
    throw new Error(
      error.code === 'last-administrator'
        ? `User ${id} is the last administrator: create another one first. Nothing was changed.`
        : `The table did not respond in time. The account may be deleted: ${again}`,
    );
  });

function printForgotten(forgotten: Awaited<ReturnType<typeof forgetPerson>>, id: number): void {
  const { deletedItems, auditEntries, users, integrations, loginsOfOthers } = forgotten;
  print(`Deleted: ${counted(deletedItems, 'other item')}`);
  print(
    `The login is now ${forgottenName(id)} in: audit entries ${auditEntries}, users ${users}, ` +
      `integrations ${integrations}`,
  );
  for (const login of loginsOfOthers)
    printError(`Left: createdBy and lastModifiedBy ${login}, because another account has it now`);
  print(`Keep the id: after a restore, run the command again with --id ${id}`);
}
