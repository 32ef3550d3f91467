import { type ExecFileException, execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { localTransport } from '../../infra/settings/transport.ts';
import { copyRepository } from '../support/commands/copy-repository.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { shippedContext } from '../support/stack/shipped-context.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/* The CDK app as the CDK CLI runs it, which prints its output unchanged. */

const ROOT = join(import.meta.dirname, '../..');

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-synthesis-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the app of this repository, or of a copy, into an output folder. */
async function synthesize(changes: object, { root = ROOT, outdir = folder } = {}) {
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, ['infra/app.ts'], {
    cwd: root,
    env: {
      ...process.env,
      CDK_OUTDIR: outdir,
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({
        ...shippedContext,
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

describe('a synthesis of a copy at another path, into a folder outside of it', () => {
  const root = join(folder, 'at/another (1) ä/depth');
  const copy = join(folder, 'elsewhere');
  const { edge, domain } = OTHER_SETTINGS;
  const certificate = domain.certificate.replace(
    OTHER_SETTINGS.region,
    shippedContext.environments.prod.region,
  );
  const changes = { edge, domain: { ...domain, certificate } };
  let output: Awaited<ReturnType<typeof synthesize>>;
  beforeAll(async () => {
    copyRepository(root);
    const environments = { prod: { ...shippedContext.environments.prod, ...changes } };
    const selected = {
      env: 'prod',
      environments,
      allowPlaceholders: 'true',
      transport: localTransport(),
    };
    output = await synthesize(selected, { root, outdir: copy });
  }, 60_000);

  it('prints its progress to standard error, because standard output is for the template', () => {
    expect(output).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        /^Synthesizing the environment prod for eu-central-1\nDo not deploy this template: mail\.sender, .+ are placeholders\nThe template is .*Gatehouse-prod\.template\.json\nThe template is .*GatehouseEdge-prod\.template\.json\n$/,
      ),
    });
  });

  it('has the same templates, bundles and asset hashes', () => {
    const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
    const hashesOf = (assembly: string): string[] =>
      Object.keys(JSON.parse(read(assembly, 'Gatehouse-prod.assets.json')).files);
    synthesizeInProcess('prod', changes);
    const original = assemblyOf('prod', changes);
    const bundles = join(inject('assembly'), 'bundles');

    const templates = globSync('*.template.json', { cwd: copy }).sort();
    expect(templates).toEqual(['Gatehouse-prod.template.json', 'GatehouseEdge-prod.template.json']);
    const files = globSync('**/*.*', { cwd: bundles }).sort();
    expect(files.length).toBeGreaterThan(50);
    expect(globSync('**/*.*', { cwd: join(copy, 'bundles') }).sort()).toEqual(files);
    expect(files.filter((file) => read(copy, 'bundles', file) !== read(bundles, file))).toEqual([]);
    expect(hashesOf(copy)).toEqual(hashesOf(original));
    for (const template of templates) expect(read(copy, template)).toBe(read(original, template));
  });
});

describe('a synthesis', () => {
  it.each([
    [
      'placeholders in production',
      { env: 'prod' },
      'The settings of prod in cdk.json are invalid. mail.sender: replace the ' +
        'placeholder "gatehouse@example.com"; ' +
        'alarms: replace the placeholder "operators@example.com".',
    ],
    [
      'an unknown transport',
      { transport: 'none' },
      'transport must be "minimal" or "sdk", not "none".',
    ],
  ])('ends with one sentence for %s', async (_, changes, sentence) => {
    expect(await synthesize(changes)).toEqual({ code: 1, stdout: '', stderr: `${sentence}\n` });
  });
});
