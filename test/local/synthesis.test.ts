import { type ExecFileException, execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readCdkJson } from '../../infra/settings/environment-files.ts';
import { LOCAL } from '../../infra/settings/read-settings.ts';
import { localTransport } from '../../infra/settings/transport.ts';
import { copyRepository } from '../support/commands/run-command.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/* The CDK app as the CDK CLI runs it, which prints its output unchanged. */

const ROOT = join(import.meta.dirname, '../..');

const folder = newFolder();
afterAll(removeFolders);

async function synthesize(
  changes: object,
  { root = ROOT, outdir = folder, umask = '022' }: { [option: string]: string } = {},
) {
  const app = ['-c', `umask ${umask}; exec "$0" infra/app.ts`, process.execPath];
  const { code, stdout, stderr } = await promisify(execFile)('sh', app, {
    cwd: root,
    env: {
      ...process.env,
      CDK_OUTDIR: outdir,
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({
        ...readCdkJson().context,
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
  const { edge, domain, backup } = OTHER_SETTINGS;
  const certificate = domain.certificate.replace(OTHER_SETTINGS.region, 'eu-central-1');
  const changes = { edge, backup, domain: { ...domain, certificate } };
  function writeSettings(env: string, more: object): void {
    const fileOf = (name: string) => join(root, `examples/environments/${name}.json`);
    const prod = JSON.parse(readFileSync(fileOf('prod'), 'utf8'));
    writeFileSync(fileOf(env), JSON.stringify({ ...prod, ...more }));
  }
  let output: Awaited<ReturnType<typeof synthesize>>;
  beforeAll(async () => {
    copyRepository(root);
    writeSettings('prod', changes);
    const selected = { env: 'prod', example: 'true', transport: localTransport() };
    output = await synthesize(selected, { root, outdir: copy });
  });

  it('prints its progress to standard error, because standard output is for the template', () => {
    expect(output).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        /^Synthesizing the environment prod for eu-central-1\nDo not deploy this template: placeholders in account, .+\nThe template is .*Gatehouse-prod\.template\.json\nThe template is .*GatehouseEdge-prod\.template\.json\nThe template is .*GatehouseBackup-prod\.template\.json\n$/,
      ),
    });
  });

  it('ends with one sentence if the own texts of mails lack the default language', async () => {
    mkdirSync(join(root, 'environments/mail'), { recursive: true });
    cpSync(join(root, 'examples/environments/prod.json'), join(root, 'environments/prod.json'));
    writeFileSync(join(root, 'environments/mail/fr.json'), '{}');

    expect(await synthesize({ env: 'prod', [LOCAL]: true }, { root })).toMatchObject({
      code: 1,
      stderr: 'mail.language is en, but there is no environments/mail/en.json.\n',
    });
  });

  it.each([
    ['x'.repeat(35), {}, 34, ', because the setting backup creates a vault with it'],
    ['of_two', { backup: undefined }, 90, ''],
  ])('ends with one sentence for the name %s of an environment', async (env, more, most, why) => {
    writeSettings(env, more);

    const { code, stderr } = await synthesize({ env, example: 'true' }, { root });

    expect(code).toBe(1);
    expect(stderr).toMatch(/^The settings in .* are invalid\. The name of the environment must/);
    expect(stderr).toContain(` have at most ${most} letters, digits and hyphens${why}.\n`);
  });

  it('has the same templates, bundles and asset hashes', () => {
    const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
    const assetsOf = (assembly: string) =>
      Object.entries<{ source: { path: string } }>(
        JSON.parse(read(assembly, 'Gatehouse-prod.assets.json')).files,
      );
    // Only a clone knows its commit, which is in this function.
    const ofCommit = /^get-info\//;
    const hashesOf = (assembly: string): string[] =>
      assetsOf(assembly).flatMap(([hash, { source }]) =>
        /\/get-info$|\.template\.json$/.test(source.path) ? [] : [hash],
      );
    const templateIn = (assembly: string, template: string): string =>
      assetsOf(assembly).reduce(
        (text, [hash, { source }]) => text.replaceAll(hash, source.path.split('/').at(-1) ?? ''),
        read(assembly, template),
      );
    const settings = { ...changes, account: '123456789012' };
    const original = assemblyWith('prod', settings);
    const bundles = join(inject('assembly'), 'bundles');

    const templates = globSync('*.template.json', { cwd: copy }).sort();
    expect(templates).toEqual(
      ['', 'Backup', 'Edge'].map((stack) => `Gatehouse${stack}-prod.template.json`),
    );
    const files = globSync('**/*.*', { cwd: bundles }).sort();
    expect(files.length).toBeGreaterThan(50);
    expect(globSync('**/*.*', { cwd: join(copy, 'bundles') }).sort()).toEqual(files);
    const differing = files.filter((file) => read(copy, 'bundles', file) !== read(bundles, file));
    expect(differing.filter((file) => !ofCommit.test(file))).toEqual([]);
    expect(hashesOf(copy)).toEqual(hashesOf(original));
    for (const template of templates)
      expect(templateIn(copy, template)).toBe(templateIn(original, template));
  });
});

describe('a synthesis', () => {
  it('lets everybody read its assets, whatever the umask and an earlier synthesis', async () => {
    const outdir = join(folder, 'modes');
    const modes = () =>
      globSync(`${outdir}/asset.*/**`).map((path) => {
        const stat = statSync(path);
        return `${stat.isDirectory() ? 'folder' : 'file'} ${(stat.mode & 0o777).toString(8)}`;
      });
    const assets = { env: 'prod', example: 'true', 'aws:cdk:disable-asset-staging': false };

    for (const umask of ['077', '027']) {
      for (const file of globSync(`${outdir}/asset.*/index.mjs`)) chmodSync(file, 0o600);
      expect(await synthesize(assets, { outdir, umask })).toMatchObject({ code: 0 });
      expect([...new Set(modes())].sort()).toEqual(['file 644', 'folder 755']);
    }
  });
});
