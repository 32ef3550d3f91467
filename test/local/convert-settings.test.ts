import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import templates from '../../infra/settings/mail-templates.json' with { type: 'json' };
import { copyRepository } from '../support/commands/copy-repository.ts';
import { runCommand } from '../support/commands/run-command.ts';

const ROOT = join(import.meta.dirname, '../..');
const root = join(mkdtempSync(join(tmpdir(), 'gatehouse-')), 'repository');
copyRepository(root);
afterAll(() => rmSync(join(root, '..'), { recursive: true, force: true }));

/** An environment as releases before 1.0.0 had it in cdk.json, which required each of these. */
const EARLIER = {
  region: 'eu-central-1',
  keepData: true,
  logRetentionDays: 365,
  auditDays: 400,
  tableMaximum: { readUnits: 12_000, writeUnits: 4000 },
  throttle: { all: { rate: 500, burst: 1000 }, login: { rate: 7, burst: 9 } },
  guessing: { failuresPerSource: 100, requestsPerSource: 1000, resetsPerSource: 100 },
  tokenLife: { minutes: 60, rememberedMinutes: 1440 },
  corsOrigins: [],
  alarms: 'operators@gatehouse.dev',
  mail: { sender: 'gate@gatehouse.dev', linkBase: 'https://admin.gatehouse.dev/reset?key=' },
};
const texts = { en: { ...templates.en, reset: { subject: 'Ours', text: '{link}' } } };

const convert = (context: object, ...options: string[]) => {
  writeFileSync(join(root, 'earlier.json'), JSON.stringify({ context }));
  const from = ['--from', 'earlier.json', ...options];
  return runCommand('convert-settings', from, {}, root);
};
const read = (name: string) =>
  JSON.parse(readFileSync(join(root, `environments/${name}.json`), 'utf8'));

it('npm run convert-settings writes what differs from the defaults, once', async () => {
  const context = { environments: { moon: EARLIER }, mailTemplates: texts, transport: 'sdk' };
  const options = ['--env', 'moon', '--account', '210987654321'];

  const first = await convert(context, ...options);
  const again = await convert(context, ...options);

  expect(first).toMatchObject({
    code: 0,
    stdout: 'environments/moon.json\nenvironments/mail-templates.json\n',
  });
  const { $schema, ...moon } = read('moon');
  const { region, auditDays, throttle, alarms, mail } = EARLIER;
  const account = '210987654321';
  expect(moon).toEqual({ account, region, auditDays, throttle, alarms, mail, transport: 'sdk' });
  expect(existsSync(join(ROOT, 'environments', $schema))).toBe(true);
  expect(read('mail-templates')).toEqual(texts);
  expect([again.code, again.stderr]).toEqual([
    1,
    'environments/moon.json exists. Nothing is written.\n',
  ]);
});

it.each<[string, object, string[], string]>([
  ['the environment is unknown', {}, ['--env', 'sun'], 'earlier.json has no environment sun.'],
  [
    'the account is missing',
    { environments: { sun: EARLIER } },
    ['--env', 'sun'],
    'The settings in earlier.json (sun) are invalid. account: An environment that keeps its data requires the number of its AWS account.',
  ],
  [
    'placeholders are left',
    { environments: { sun: { ...EARLIER, alarms: 'operators@example.com' } } },
    ['--env', 'sun', '--account', '210987654321'],
    'The settings in earlier.json (sun) are invalid. alarms: replace the placeholder "operators@example.com".',
  ],
])('writes nothing if %s', async (_, context, options, sentence) => {
  expect(await convert(context, ...options)).toMatchObject({ code: 1, stderr: `${sentence}\n` });
  expect(existsSync(join(root, 'environments/sun.json'))).toBe(false);
});
