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

/** In this process, which takes less time than a command or a request for each entity. */
export async function importHere(
  { cloud, table }: Gatehouse,
  records: readonly object[],
  { apply = true, again = false } = {},
) {
  const { endpoint, region, functions, pepperKeys } = cloud;
  const { VALUES_KEY: valuesKey = '' } =
    functions.find(({ name }) => name === 'POST /api/utm-integration-confs')?.environment ?? {};
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const rejected: string[] = [];
  const skipped: string[] = [];
  const lines = (async function* () {
    for (const record of records) yield Buffer.from(JSON.stringify(record));
  })();
  const tally = await importRecords({ table, pepperKeys, valuesKey, kms }, lines, {
    apply,
    again,
    onRejected: (line, errors) =>
      rejected.push(`${line} ${errors.map(({ field, code }) => `${field} ${code}`)}`),
    onSkipped: (line, outcome, entity) => skipped.push(`${line} ${outcome} ${entity}`),
    onProgress: () => undefined,
  });
  kms.destroy();
  return { tally, rejected, skipped };
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
