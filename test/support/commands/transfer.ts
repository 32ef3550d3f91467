import { KMSClient } from '@aws-sdk/client-kms';
import { hashSync } from 'bcryptjs';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import { importRecords } from '../../../lib/operations/transfer/import-records.ts';
import type { Gatehouse } from '../instance/launch.ts';
import { isProgress, runCommand } from './run-command.ts';

/** A bcrypt hash at the lowest cost, with the prefix of another implementation. */
export const bcryptHash = (password: string, prefix = '$2a$'): string =>
  hashSync(password, 4).replace(/^\$2.\$/, prefix);

/** A record of a user with exactly the required fields, unless more are given. */
export const userRecord = (login: string, fields: object = {}) => ({
  type: 'user',
  login,
  email: `${login}@old.example`,
  ...fields,
});

export const integrationRecord = (name: string, values: readonly string[] = []) => ({
  type: 'integration',
  name,
  shortName: 'OLD',
  integrationType: 'API',
  parameters: values.map((confValue, index) => ({
    confName: `name ${index}`,
    confValue,
    confDescription: `description ${index}`,
  })),
});

export const jsonLines = (records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

type Target = Parameters<typeof importRecords>[0];

/** Imports records or lines, and records what became of them. */
export async function importInto(
  target: Target,
  records: readonly (object | string | Buffer)[],
  options: { readonly apply?: boolean; readonly again?: boolean } = {},
) {
  const rejected: string[] = [];
  const skipped: string[] = [];
  const progress: number[] = [];
  /** The number of lines that were read when each record had been carried out. */
  const linesRead: number[] = [];
  let read = 0;
  const lines = (async function* () {
    for (const record of records) {
      read++;
      if (record instanceof Buffer) yield record;
      else yield Buffer.from(typeof record === 'string' ? record : JSON.stringify(record));
    }
  })();
  const tally = await importRecords(target, lines, {
    apply: true,
    again: false,
    ...options,
    onRejected(line, errors) {
      const texts = errors.map(({ field, code, detail }) => [field, code, detail]);
      rejected.push(`${line} ${texts.map((text) => text.filter(Boolean).join(' ')).join(', ')}`);
    },
    onSkipped: (line, outcome, entity) => skipped.push(`${line} ${outcome} ${entity}`),
    onProgress(records) {
      progress.push(records);
      linesRead.push(read);
    },
  });
  return { tally, rejected, skipped, progress, linesRead };
}

/** In this process, which takes less time than a command or a request for each entity. */
export async function importHere({ cloud, table }: Gatehouse, records: readonly object[]) {
  const { endpoint, region, functions, pepperKeys } = cloud;
  const { VALUES_KEY: valuesKey = '' } =
    functions.find(({ name }) => name === 'POST /api/utm-integration-confs')?.environment ?? {};
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const target = { table, pepperKeys, valuesKey, kms };
  return importInto(target, records).finally(() => kms.destroy());
}

/** Runs an import or export to its end, and leaves its progress out. */
export async function runTransfer(
  script: 'import' | 'export',
  options: readonly string[],
  environment: object,
) {
  const { code, stdout, stderr } = await runCommand(script, options, environment);
  const linesOf = (text: string) =>
    text.split('\n').filter((line) => line !== '' && !isProgress(line));
  return { code, stdout: linesOf(stdout), stderr: linesOf(stderr) };
}
