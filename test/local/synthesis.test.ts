import { type ExecFileException, execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App } from 'aws-cdk-lib';
import { afterAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../infra/read-settings.ts';
import { OTHER_SETTINGS } from '../support/other-settings.ts';

/* The CDK app as the CDK CLI runs it, which prints its output unchanged. */

const ROOT = join(import.meta.dirname, '../..');
const { context } = JSON.parse(readFileSync(join(ROOT, 'cdk.json'), 'utf8'));

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-synthesis-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function synthesize(changes: object) {
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, ['infra/app.ts'], {
    cwd: ROOT,
    env: {
      ...process.env,
      CDK_OUTDIR: folder,
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({
        ...context,
        checked: false,
        'aws:cdk:disable-asset-staging': true,
        ...changes,
      }),
    },
  })
    .then((output) => ({ code: 0, ...output }))
    .catch((error: ExecFileException & { stdout: string; stderr: string }) => error);
  return { code, stdout, stderr };
}

const withSetting = (changes: object) => ({ environments: { dev: { ...context.environments.dev, ...changes } } });

describe('a synthesis', () => {
  it('prints its progress to standard error, because standard output is for the template', async () => {
    const { edge, domain } = OTHER_SETTINGS;
    const certificate = domain.certificate.replace(OTHER_SETTINGS.region, context.environments.dev.region);

    expect(await synthesize(withSetting({ edge, domain: { ...domain, certificate } }))).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        /^Synthesizing the environment dev for eu-central-1\nThe template is .*Gatehouse-dev\.template\.json\nThe template is .*GatehouseEdge-dev\.template\.json\n$/,
      ),
    });
  }, 60_000);

  it.each([
    [
      'placeholders in production',
      { env: 'prod' },
      'The settings of prod in cdk.json are invalid. mail.sender: replace the placeholder "gatehouse@example.com"; ' +
        'mail.linkBase: replace the placeholder "https://admin.example.com/account/reset/finish?key="; ' +
        'alarms: replace the placeholder "operators@example.com".',
    ],
    ['an unknown transport', { transport: 'none' }, 'transport must be "minimal" or "sdk", not "none".'],
  ])('ends with one sentence for %s', async (_, changes, sentence) => {
    expect(await synthesize(changes)).toEqual({ code: 1, stdout: '', stderr: `${sentence}\n` });
  });

  it.each<[string, object, string]>([
    ['an unknown environment', { env: 'nope' }, 'There is no environment nope: cdk.json has dev, staging, prod.'],
    [
      'an unknown context key',
      { enviroment: 'prod' },
      'There is no context key enviroment; there are env, transport, environments, mailTemplates, allowPlaceholders, unprotected, deployment, checked.',
    ],
    [
      'an origin without a scheme',
      withSetting({ corsOrigins: ['admin.example.com'] }),
      'The settings of dev in cdk.json are invalid. corsOrigins.0: must be a scheme and a host in lower case, without ' +
        'a path, a trailing slash, a default port or a wildcard, such as https://admin.example.com, but is ' +
        '"admin.example.com".',
    ],
  ])('reads no settings from %s', (_, changes, sentence) => {
    const { node } = new App({ outdir: folder, context: { ...context, ...changes } });

    expect(() => readSettings(node)).toThrow(new Error(sentence));
  });
});
