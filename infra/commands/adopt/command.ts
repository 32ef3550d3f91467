import { SKIPPED_IDS, SKIPPED_PARAMETER_IDS } from '../../../lib/restore/adopt-table.ts';
import { readCdkJson } from '../../settings/read-cdk-json.ts';
import { defineCommand, TABLE_HELP, type ValuesOf, WrongArguments } from '../define-command.ts';

const options = {
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
} as const;

/** What an operator states about a restored table; the help explains each option. */
export type AdoptOptions = ValuesOf<typeof options>;

/** `npm run adopt`: prepares a table restored from a backup for service. */
export const command = defineCommand({
  usage: `npm run adopt -- [--table NAME [--like TABLE] [--environment NAME] [--pepper-key ARN]
                      [--values-key ARN] [--unprotected]
                      [--original TABLE [--apply [--keep IDS]]]] [--skip IDS]`,
  help: `Prepares a table that was restored from a backup for service: skips the ids that were
assigned since, ends all sessions and invitations, restores the settings that a restore does not
copy, flags all modules to restart, and verifies the table. It can be repeated.

${TABLE_HELP}

--like TABLE        copies the tags and the maximum throughput of the original table; without it,
                    the next three are required unless the table has their tags
--environment NAME  the environment of cdk.json
--pepper-key ARN    the ARN of PepperKey, or of several, separated by spaces
--values-key ARN    the ARN of ValuesKey
--unprotected       omits deletion protection and point-in-time recovery
--original TABLE    prints what has happened to accounts in the original table since the backup
--apply             repeats it, and copies the markers of imports
--keep IDS          the ids of accounts, separated by commas, that stay as in the backup
--skip IDS          how many ids of users and of integrations are skipped (default
                    ${SKIPPED_IDS}); of those of parameters, ${SKIPPED_PARAMETER_IDS} are skipped in
                    each integration`,
  options,
  statuses: {
    adopted: [0, 'the table is adopted and intact'],
    failed: [1, 'not adopted, or not completely, or not intact, or a change is not repeated'],
  },
  seeAlso: 'docs/restore.md has the procedure.',
  async run({ values, openTable, explain }) {
    const { table, like, environment, unprotected, original, apply, keep, skip } = values;
    const { 'pepper-key': pepperKey, 'values-key': valuesKey } = values;
    const environments = Object.keys(readCdkJson().context.environments ?? {});
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
      [
        environment !== undefined && !environments.includes(environment),
        `There is no environment ${environment}: cdk.json has ${environments.join(', ')}.`,
      ],
    ];
    const [, broken] = rules.find(([isBroken]) => isBroken) ?? [];
    if (broken) throw new WrongArguments(broken);
    const { adoptAndVerify } = await import('./adopt-and-verify.ts');
    return adoptAndVerify(await openTable(), values, explain);
  },
});

const isArn = (arn: string): boolean => /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/.test(arn);
