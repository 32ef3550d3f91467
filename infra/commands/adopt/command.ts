import { SKIPPED_IDS, SKIPPED_PARAMETER_IDS } from '../../../lib/restore/adopt-table.ts';
import { readCdkJson } from '../../settings/read-cdk-json.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';

/** `npm run adopt`: prepares a table restored from a backup for service. */
export const command = defineCommand({
  usage: `npm run adopt -- [--table NAME [--like TABLE] [--environment NAME] [--pepper-key ARN]
                      [--values-key ARN] [--unprotected]
                      [--original TABLE [--apply [--keep IDS]]]] [--skip IDS]`,
  help: `Prepares a table that was restored from a backup for service: skips the ids that were
assigned since the backup, invalidates all tokens, reset keys and invitations, deletes all public
signing keys, flags all modules to restart, restores the settings that a restore does not copy, and
verifies the table. It can be repeated. Tokens that a running function issues are rejected for up to
a minute afterwards.

--table NAME        adopts a deployed table, with the AWS credentials and the region of the
                    environment; without it, the local table in STATE_DIR (default .local), whose
                    settings are not changed
--like TABLE        copies the tags and the maximum throughput of the original table
--environment NAME  the environment of cdk.json
--pepper-key ARN    the ARN of PepperKey; several ARNs, separated by spaces, while it is being
                    replaced
--values-key ARN    the ARN of ValuesKey
--unprotected       omits deletion protection and point-in-time recovery
--original TABLE    prints what has happened to accounts in the original table since the backup, and
                    how many import markers --apply would copy
--apply             repeats it: deletions, deactivations, roles, addresses and logins; a password
                    that was replaced becomes void, and its user requests a reset. Without it,
                    deleted and deactivated accounts and former passwords are as in the backup. Also
                    copies the import markers, so that a repeated import does not bring back what
                    was deleted
--keep IDS          the changed accounts, by ids separated by commas, that stay as in the backup
--skip IDS          how many ids of users and of integrations are skipped (default ${SKIPPED_IDS});
                    of those of parameters, ${SKIPPED_PARAMETER_IDS} are skipped in each integration

--like, or the environment and the two ARNs, are required unless the table has the tags
gatehouse:environment, gatehouse:pepper-key and gatehouse:values-key.`,
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
  statuses: {
    adopted: [0, 'the table is adopted and intact'],
    failed: [
      1,
      `the table is not adopted, or not completely: run the command again; or it is not intact;
or a change of an account could not be repeated`,
    ],
  },
  seeAlso: 'docs/restore.md has the procedure, docs/commands.md lists the permissions.',
  async run({ values, openTable, explain }) {
    const { table, like, unprotected, original, apply, keep, skip } = values;
    const { environment, 'pepper-key': pepperKey, 'values-key': valuesKey } = values;
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
      [apply && !original, '--apply requires --original.'],
      [
        keep !== undefined && !(apply && /^[1-9]\d*(,[1-9]\d*)*$/.test(keep)),
        '--keep requires --apply, and must be ids separated by commas.',
      ],
      [!/^[1-9]\d{0,8}$/.test(skip), '--skip must be a whole number from 1 to 999999999.'],
    ];
    const [, broken] = rules.find(([isBroken]) => isBroken) ?? [];
    if (broken) throw new WrongArguments(broken);
    if (environment) requireEnvironment(environment);
    const tags = {
      ...(environment && { 'gatehouse:environment': environment }),
      ...(pepperKey && { 'gatehouse:pepper-key': pepperKey }),
      ...(valuesKey && { 'gatehouse:values-key': valuesKey }),
    };
    const { adoptAndVerify } = await import('./adopt-and-verify.ts');
    const isAdopted = await adoptAndVerify(await openTable(), {
      isDeployed: table !== undefined,
      wishes: { like, tags, isProtected: !unprotected },
      skippedIds: Number(skip),
      original: original
        ? { name: original, apply, kept: keep?.split(',').map(Number) ?? [] }
        : undefined,
      explain,
    });
    return isAdopted ? 'adopted' : 'failed';
  },
});

const isArn = (arn: string): boolean => /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/.test(arn);

function requireEnvironment(environment: string): void {
  const known = Object.keys(readCdkJson().context.environments ?? {});
  if (known.includes(environment)) return;
  const names = known.join(', ') || 'none';
  throw new WrongArguments(`There is no environment ${environment}: cdk.json has ${names}.`);
}
