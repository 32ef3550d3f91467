import { SKIPPED_IDS, SKIPPED_PARAMETER_IDS } from '../../../lib/restore/adopt-table.ts';
import { readCdkJson } from '../../settings/read-cdk-json.ts';
import {
  exitOnSignal,
  fail,
  finish,
  readArguments,
  rejectArguments,
  WRONG_ARGUMENTS,
} from '../command-line.ts';
import { explainError } from '../explain-error.ts';

/*
 * `npm run adopt`: prepares a table restored from a backup for service. docs/restore.md has the
 * procedure.
 */

// Exit statuses.
const ADOPTED = 0;
const NOT_ADOPTED = 1;

const COMMAND = {
  usage: `npm run adopt -- [--table NAME [--like TABLE] [--environment NAME] [--pepper-key ARN] [--values-key ARN]
                      [--unprotected] [--original TABLE [--apply [--keep IDS]]]] [--skip IDS]`,
  help: `Prepares a table that was restored from a backup for service: skips the ids that were assigned since the backup,
invalidates all tokens, reset keys and invitations, deletes all public signing keys, flags all modules to restart,
restores the settings that a restore does not copy, and verifies the table. It can be repeated. Tokens that a running
function issues are rejected for up to a minute afterwards.

--table NAME        adopts a deployed table, with the AWS credentials and the region of the environment;
                    without it, the local table in STATE_DIR (default .local), whose settings are not changed
--like TABLE        copies the tags and the maximum throughput of the original table
--environment NAME  the environment of cdk.json
--pepper-key ARN    the ARN of PepperKey; several ARNs, separated by spaces, while it is being replaced
--values-key ARN    the ARN of ValuesKey
--unprotected       omits deletion protection and point-in-time recovery
--original TABLE    prints what has happened to accounts in the original table since the backup, and how many import
                    markers --apply would copy
--apply             repeats it: deletions, deactivations, roles, addresses and logins; a password that was replaced
                    becomes void, and its user requests a reset. Without it, deleted and deactivated accounts and former
                    passwords are as in the backup. Also copies the import markers, so that a repeated import does not
                    bring back what was deleted
--keep IDS          the changed accounts, by ids separated by commas, that stay as in the backup
--skip IDS          how many ids of users and of integrations are skipped (default ${SKIPPED_IDS});
                    of the ids of parameters, ${SKIPPED_PARAMETER_IDS} are skipped in each integration

--like, or the environment and the two ARNs, are required unless the table has the tags gatehouse:environment,
gatehouse:pepper-key and gatehouse:values-key.

Exit status
  ${ADOPTED}  the table is adopted and intact
  ${NOT_ADOPTED}  the table is not adopted, or not completely: run the command again; or it is not intact; or a change of an
     account could not be repeated
  ${WRONG_ARGUMENTS}  wrong arguments

docs/restore.md has the procedure, docs/commands.md lists the permissions.`,
  options: {
    table: { type: 'string' },
    like: { type: 'string' },
    environment: { type: 'string' },
    'pepper-key': { type: 'string' },
    'values-key': { type: 'string' },
    unprotected: { type: 'boolean', default: false },
    original: { type: 'string' },
    apply: { type: 'boolean', default: false },
    keep: { type: 'string' },
    skip: { type: 'string', default: String(SKIPPED_IDS) },
  },
} as const;

const {
  table: name,
  skip,
  like,
  unprotected,
  original,
  apply,
  keep,
  ...tagValues
} = readArguments(COMMAND).values;
const KEY_ARN = /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/;
const pepperKeys = tagValues['pepper-key']?.split(' ') ?? [];
if (!pepperKeys.every((arn) => KEY_ARN.test(arn)))
  rejectArguments('--pepper-key must be the ARN of a KMS key.', COMMAND);
const valuesKey = tagValues['values-key'];
if (valuesKey !== undefined && !KEY_ARN.test(valuesKey))
  rejectArguments('--values-key must be the ARN of a KMS key.', COMMAND);
if (tagValues.environment !== undefined) requireEnvironment(tagValues.environment);
if (name === undefined && (like !== undefined || unprotected || Object.keys(tagValues).length > 0))
  rejectArguments(
    '--like, --environment, --pepper-key, --values-key and --unprotected require --table.',
    COMMAND,
  );
if (original !== undefined && (name === undefined || name === original))
  rejectArguments('--original requires --table, and must be another table.', COMMAND);
if (apply && original === undefined) rejectArguments('--apply requires --original.', COMMAND);
if (keep !== undefined && !(apply && /^[1-9]\d*(,[1-9]\d*)*$/.test(keep)))
  rejectArguments('--keep requires --apply, and must be ids separated by commas.', COMMAND);
if (!/^[1-9]\d{0,8}$/.test(skip))
  rejectArguments('--skip must be a whole number from 1 to 999999999.', COMMAND);
exitOnSignal(NOT_ADOPTED);
// After the arguments: the AWS SDK takes most of the start of a command.
const { openCommandTable } = await import('../command-table.ts');
const { adoptAndVerify } = await import('./adopt-and-verify.ts');

const connection = await openCommandTable(name).catch((error) =>
  fail(explainError(error, name), NOT_ADOPTED),
);
const isAdopted = await adoptAndVerify(connection, {
  name,
  wishes: { like, tags: tagsOf(tagValues), isProtected: !unprotected },
  skippedIds: Number(skip),
  original:
    original === undefined
      ? undefined
      : { name: original, apply, kept: keep?.split(',').map(Number) ?? [] },
});
await connection.close();
await finish(isAdopted ? ADOPTED : NOT_ADOPTED);

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

function tagsOf(values: typeof tagValues): Record<string, string> {
  const { environment, 'pepper-key': pepperKey, 'values-key': valuesKey } = values;
  return {
    ...(environment && { 'gatehouse:environment': environment }),
    ...(pepperKey && { 'gatehouse:pepper-key': pepperKey }),
    ...(valuesKey && { 'gatehouse:values-key': valuesKey }),
  };
}
