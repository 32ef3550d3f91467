import { VERIFIED_ATTRIBUTES } from '../lib/integrity/item-kinds.ts';
import { verifyTable } from '../lib/integrity/verify-table.ts';
import { adoptTable, SKIPPED_IDS } from '../lib/restore/adopt-table.ts';
import { NotGatehouseTable } from '../lib/table/not-gatehouse-table.ts';
import {
  exitOnSignal,
  fail,
  finish,
  print,
  printError,
  readArguments,
  rejectArguments,
  reportProgress,
  WRONG_ARGUMENTS,
} from './command-line.ts';
import { explainError } from './explain-error.ts';
import { readCdkJson } from './read-cdk-json.ts';
import { reportVerification } from './report-verification.ts';

/* `npm run adopt`: prepares a table restored from a backup for service. docs/operating.md has the procedure. */

// Exit statuses.
const ADOPTED = 0;
const NOT_ADOPTED = 1;

const COMMAND = {
  usage: `npm run adopt -- [--table NAME [--like TABLE] [--environment NAME] [--pepper-key ARN] [--values-key ARN]
                      [--unprotected]] [--skip IDS]`,
  help: `Prepares a table that was restored from a backup for service: skips the ids that were assigned since the backup,
invalidates all tokens, reset keys and invitations, restores the settings that a restore does not copy, and verifies
the table. It can be repeated.

--table NAME        adopts a deployed table, with the AWS credentials and the region of the environment;
                    without it, the local table in STATE_DIR (default .local), whose settings are not changed
--like TABLE        copies the tags and the maximum throughput of the original table
--environment NAME  the environment of cdk.json
--pepper-key ARN    the ARN of PepperKey; several ARNs, separated by spaces, while it is being replaced
--values-key ARN    the ARN of ValuesKey
--unprotected       omits deletion protection and point-in-time recovery
--skip IDS          how many ids of users and of integrations are skipped (default ${SKIPPED_IDS})

--like, or the environment and the two ARNs, are required unless the table has the tags gatehouse:environment,
gatehouse:pepper-key and gatehouse:values-key.

Exit status
  ${ADOPTED}  the table is adopted and intact
  ${NOT_ADOPTED}  the table is not adopted, or not completely: run the command again; or it is not intact
  ${WRONG_ARGUMENTS}  wrong arguments

docs/operating.md has the procedure and lists the permissions.`,
  options: {
    table: { type: 'string' },
    like: { type: 'string' },
    environment: { type: 'string' },
    'pepper-key': { type: 'string' },
    'values-key': { type: 'string' },
    unprotected: { type: 'boolean', default: false },
    skip: { type: 'string', default: String(SKIPPED_IDS) },
  },
} as const;

const { table: name, skip, like, unprotected, ...tagValues } = readArguments(COMMAND).values;
const KEY_ARN = /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+( arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+)*$/;
for (const option of ['pepper-key', 'values-key'] as const) {
  const arn = tagValues[option];
  if (arn !== undefined && !KEY_ARN.test(arn)) rejectArguments(`--${option} must be the ARN of a KMS key.`, COMMAND);
}
if (tagValues.environment !== undefined) requireEnvironment(tagValues.environment);
if (name === undefined && (like !== undefined || unprotected || Object.keys(tagValues).length > 0))
  rejectArguments('--like, --environment, --pepper-key, --values-key and --unprotected require --table.', COMMAND);
if (!/^[1-9]\d{0,8}$/.test(skip)) rejectArguments('--skip must be a whole number from 1 to 999999999.', COMMAND);
exitOnSignal(NOT_ADOPTED);
// After the arguments: the AWS SDK takes most of the start of a command.
const { openCommandTable } = await import('./command-table.ts');
const { openTable } = await import('../lib/table/table.ts');
const { openTableScanner } = await import('../lib/table/table-scanner.ts');
const { applySettings, planSettings } = await import('./restored-settings.ts');

const connection = await openCommandTable(name).catch((error) => fail(explainError(error, name), NOT_ADOPTED));
let isChanged = false;
const status = await run().catch((error) => {
  printError(sentenceOf(error));
  return NOT_ADOPTED;
});
await connection.close();
await finish(status);

function requireEnvironment(environment: string): void {
  const { environments = {} } = environmentsInCdkJson();
  if (Object.hasOwn(environments, environment)) return;
  const known = Object.keys(environments).join(', ') || 'none';
  rejectArguments(`There is no environment ${environment}: cdk.json has ${known}.`, COMMAND);
}

function environmentsInCdkJson(): { environments?: object } {
  try {
    return readCdkJson().context;
  } catch (error) {
    return fail((error as Error).message, NOT_ADOPTED);
  }
}

async function run(): Promise<number> {
  const { tableName, client } = connection;
  print(`Adopting ${tableName}`);
  const plan =
    name === undefined
      ? undefined
      : await planSettings(client, name, { like, tags: tagsOf(tagValues), isProtected: !unprotected });
  isChanged = true;
  const { sequences, resetKeys, notBefore } = await adoptTable(
    openTable(tableName, client),
    openTableScanner([], tableName, client),
    Number(skip),
    reportProgress('items read'),
  );
  for (const { kind, before, after } of sequences) print(`The next ${kind} id is ${after + 1}; it was ${before + 1}`);
  print(`Tokens issued before ${notBefore.toISOString()} are rejected: all users must log in again`);
  print(
    `Deleted ${resetKeys} reset ${resetKeys === 1 ? 'key' : 'keys'}: users who still need one must request another`,
  );
  if (plan) for (const sentence of await applySettings(client, plan)) print(sentence);
  return verify();
}

function tagsOf(values: typeof tagValues): Record<string, string> {
  const { environment, 'pepper-key': pepperKey, 'values-key': valuesKey } = values;
  return {
    ...(environment && { 'gatehouse:environment': environment }),
    ...(pepperKey && { 'gatehouse:pepper-key': pepperKey }),
    ...(valuesKey && { 'gatehouse:values-key': valuesKey }),
  };
}

/** A backup need not contain the changes of a transaction together, so a restored table can need a repair. */
async function verify(): Promise<number> {
  const { tableName, client } = connection;
  print(`Verifying ${tableName}`);
  const verification = await verifyTable(
    openTableScanner(VERIFIED_ATTRIBUTES, tableName, client),
    reportProgress('items read'),
  );
  reportVerification(verification);
  if (verification.findings.length + verification.undecided.length === 0) return ADOPTED;
  printError(`The table is adopted, but not intact: npm run verify -- ${name ? `--table ${name} ` : ''}--repair`);
  return NOT_ADOPTED;
}

function sentenceOf(error: unknown): string {
  if (error instanceof NotGatehouseTable)
    return `${connection.tableName} is not a Gatehouse table: it has no administrator roster. Nothing was changed.`;
  const reason = explainError(error, name);
  return isChanged ? `The adoption is incomplete. ${reason} Run the command again.` : `${reason} Nothing was changed.`;
}
