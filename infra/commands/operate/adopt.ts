import * as v from 'valibot';
import type { Change } from '../../../lib/audit/audit-entry.ts';
import type { ListedEntry } from '../../../lib/audit/read-audits.ts';
import {
  ADOPTED_ATTRIBUTES,
  adoptTable,
  SKIPPED_IDS,
  SKIPPED_PARAMETER_IDS,
} from '../../../lib/operations/restore/adopt-table.ts';
import { findChangedAccess, voidAccess } from '../../../lib/operations/restore/former-access.ts';
import { lostChanges } from '../../../lib/operations/restore/lost-changes.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import type { Table } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { NotGatehouseTable } from '../../../lib/table/wrong-table.ts';
import { environmentNames, noEnvironment } from '../../settings/environment-files.ts';
import { keyArn } from '../../settings/existing.ts';
import { print, printError, reportProgress } from '../command-line.ts';
import { defineCommand, TABLE_HELP, type ValuesOf, WrongArguments } from '../define-command.ts';
import { namingTable } from '../explain-error.ts';
import { openReadableTable, type TableConnection } from '../tables.ts';
import { planSettings } from './restored-settings.ts';
import { verifyAndReport } from './verify.ts';

const options = {
  table: { type: 'string' },
  like: { type: 'string' },
  environment: { type: 'string' },
  'pepper-key': { type: 'string' },
  'values-key': { type: 'string' },
  unprotected: { type: 'boolean', default: false },
  original: { type: 'string' },
  skip: { type: 'string', default: String(SKIPPED_IDS) },
} as const;

export const command = defineCommand({
  usage: `npm run admin -- adopt [--table NAME [--like TABLE] [--environment NAME]
                      [--pepper-key ARN] [--values-key ARN] [--unprotected]
                      [--original TABLE]] [--skip IDS]`,
  help: `Prepares a table that was restored from a backup for service: skips the ids that were
assigned since, ends all sessions and invitations, voids recovery codes that may have been used
since, restores the settings that a restore does not copy, flags all modules to restart, and
verifies the table. It can be repeated.

${TABLE_HELP}

--like TABLE        copies the tags and the maximum throughput of the original table; without it,
                    the next three are required unless the table has their tags
--environment NAME  the environment, which has a file in environments/
--pepper-key ARN    the ARN of PepperKey, or of several, separated by spaces
--values-key ARN    the ARN of ValuesKey
--unprotected       omits deletion protection and point-in-time recovery
--original TABLE    voids the passwords of accounts whose access has changed in the original table
                    since the backup, unlinks identities that it no longer lets in, and lists all
                    changes since, to be repeated by hand
--skip IDS          how many ids of users and of integrations are skipped (default
                    ${SKIPPED_IDS}); of ids of parameters, ${SKIPPED_PARAMETER_IDS} are skipped in
                    each integration`,
  options,
  statuses: {
    adopted: [0, 'the table is adopted and intact'],
    failed: [1, 'not adopted, or not completely, or not intact'],
  },
  seeAlso: 'docs/restore.md has the procedure.',
  async run({ values, openTable, explain }) {
    rejectMistakes(values);
    const connection = await openTable();
    const { tableName, client, table } = connection;
    let isChanged = false;
    try {
      print(`Adopting ${tableName}`);
      // Only AWS has settings of tables.
      const applySettings = values.table && (await planSettings(connection, values));
      const name = values.original;
      const original = name ? await openReadableTable(name, client) : undefined;
      const settle = name && original && (await compareOriginal(connection, original, name));
      isChanged = true;
      printAdoption(
        await adoptTable(table, openTableScanner(ADOPTED_ATTRIBUTES, tableName, client), {
          skippedIds: Number(values.skip),
          original,
          onProgress: reportProgress('item', ' read'),
        }),
      );
      if (settle) await settle();
      else print('Accounts are as in the backup: --original TABLE lists what has changed since');
      if (applySettings) await applySettings();

      // A backup need not contain the changes of a transaction together, so a restored table can
      // need a repair.
      print(`Verifying ${tableName}`);
      const { findings, undecided } = await verifyAndReport(connection);
      if (findings.length + undecided.length === 0) return 'adopted';
      const option = values.table ? `--table ${tableName} ` : '';
      printError(`The table is adopted, but not intact: npm run admin -- verify ${option}--repair`);
      return 'failed';
    } catch (error) {
      const isUntouched = !isChanged || error instanceof NotGatehouseTable;
      throw new Error(
        isUntouched
          ? `${explain(error)} Nothing was changed.`
          : `The adoption is incomplete. ${explain(error)} Run the command again.`,
      );
    }
  },
});

function rejectMistakes(values: ValuesOf<typeof options>): void {
  const { table, like, environment, unprotected, original, skip } = values;
  const { 'pepper-key': pepperKey, 'values-key': valuesKey } = values;
  const isArn = (arn: string) => v.is(keyArn, arn);
  const rules: readonly (readonly [isBroken: boolean, sentence: string])[] = [
    [pepperKey?.split(' ').every(isArn) === false, '--pepper-key must be the ARN of a KMS key.'],
    [valuesKey !== undefined && !isArn(valuesKey), '--values-key must be the ARN of a KMS key.'],
    [
      !table && Boolean(like || unprotected || environment || pepperKey || valuesKey),
      '--like, --environment, --pepper-key, --values-key and --unprotected require --table.',
    ],
    [
      original !== undefined && (!table || table === original),
      '--original requires --table, and must be another table.',
    ],
    [!/^[1-9]\d{0,8}$/.test(skip), '--skip must be a whole number from 1 to 999999999.'],
    [
      environment !== undefined && !environmentNames().includes(environment),
      noEnvironment(String(environment)),
    ],
  ];
  const [, broken] = rules.find(([isBroken]) => isBroken) ?? [];
  if (broken) throw new WrongArguments(broken);
}

function printAdoption(adoption: Awaited<ReturnType<typeof adoptTable>>): void {
  const { sequences, notBefore, mailedKeys, publicKeys, recoveryCodes } = adoption;
  const { restarts, credentials } = adoption;
  for (const { kind, before, after } of sequences)
    print(`The next ${kind} id is ${after + 1}; it was ${before + 1}`);
  print(
    `Tokens issued before ${notBefore.toISOString()} are rejected: all users must log in again`,
  );
  print(
    `Deleted ${counted(mailedKeys, 'mailed key')}: users who still need one must request another`,
  );
  print(
    `Deleted ${counted(publicKeys, 'public signing key')}: the first login publishes those in use`,
  );
  print(
    `Voided recovery codes of ${counted(recoveryCodes, 'user')}, which may have been used since`,
  );
  print(`Flagged ${counted(restarts, 'module')} to restart`);
  print(
    `Deleted ${counted(credentials, 'credential')} of modules, which may have been deleted since`,
  );
}

/**
 * Compares a restored table with its original, and changes nothing. Throws a sentence if they
 * cannot be compared. Returns a function that voids passwords and unlinks identities of accounts
 * whose access has changed since the backup, and lists the changes to be repeated by hand.
 */
export async function compareOriginal(
  { tableName, table }: TableConnection,
  original: Table,
  name: string,
): Promise<() => Promise<void>> {
  // The restored table exists: its settings have been read.
  const changed = await findChangedAccess(table, original).catch(namingTable(name));
  if (!changed)
    throw new Error(`${name} is not the original of ${tableName}: they have no account in common.`);
  const lost = await lostChanges(table, original, Date.now());

  return async () => {
    const { passwords, identities } = await voidAccess(table, changed);
    const voided = counted(passwords, 'password');
    print(`Voided ${voided}: users log in with a linked identity, or set another by mail`);
    print(
      `Unlinked identities of ${counted(identities, 'account')}: link those that should log in`,
    );
    print(`Changes in ${name} since the backup, which are undone: ${lost.length}`);
    for (const entry of lost) print(`  ${describe(entry)}`);
  };
}

/** Names and values are JSON, because they can contain any character. */
function describe({ time, actor, action, target, targetName, changes }: ListedEntry): string {
  const values = changes ? ` ${JSON.stringify(changes.map(inOrder))}` : '';
  return `${time} ${actor}: ${action} ${target} ${JSON.stringify(targetName)}${values}`;
}

/** The parts of a change as they are read; DynamoDB returns them in any order. */
const inOrder = ({ field, from, to, added, removed }: Change): Change =>
  Object.fromEntries(
    Object.entries({ field, from, to, added, removed }).filter(([, part]) => part !== undefined),
  ) as unknown as Change;
