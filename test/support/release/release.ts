import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printError } from '../../../infra/commands/command-line.ts';
import type { StackTemplate } from '../../../infra/commands/deploy/refusals.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The commit of the last release; before the first one, of the state that is compared with. */
export const RELEASE_COMMIT = readFileSync(join(ROOT, 'test/release.txt'), 'utf8').trim();

/** What is built: three example environments, one of them with an edge. */
const ENVIRONMENTS = ['dev', 'staging', 'prod'] as const;
/** The settings of the edge, which no example has. */
export const WITH_EDGE = {
  domain: {
    name: 'gate.one.example',
    certificate:
      'arn:aws:acm:eu-central-1:123456789012:certificate/0f2b7c1e-5a64-4d3b-9c8e-7b1a2d3c4e5f',
  },
  edge: {
    hostName: 'api.one.example',
    certificate:
      'arn:aws:acm:us-east-1:123456789012:certificate/9c8e7b1a-2d3c-4e5f-0f2b-7c1e5a644d3b',
    secret: 'gate/edge',
    secretHashes: ['a0'.repeat(32)],
    requestsPerSource: 2000,
    loginsPerSource: 100,
  },
};

const CACHE = join(ROOT, 'node_modules/.cache/gatehouse-releases');
const FOLDER = join(CACHE, RELEASE_COMMIT);

/** The assembly of an environment of the last release; undefined if it is not built. */
export const releasedAssembly = (environment: (typeof ENVIRONMENTS)[number]): string | undefined =>
  existsSync(FOLDER) ? join(FOLDER, environment) : undefined;

export const releasedTemplate = (
  environment: (typeof ENVIRONMENTS)[number],
  stack: string,
): StackTemplate =>
  JSON.parse(readFileSync(join(FOLDER, environment, `${stack}.template.json`), 'utf8'));

/**
 * Synthesizes the last release by its own source and packages, unless that was done since the last
 * `npm ci`. Says so and builds nothing if git does not have its commit, such as in a shallow clone.
 */
export function buildRelease(): void {
  if (existsSync(FOLDER)) return;
  // Outside of node_modules, in which Node runs no TypeScript.
  const checkout = mkdtempSync(join(tmpdir(), 'gatehouse-checkout-'));
  mkdirSync(CACHE, { recursive: true });
  const built = mkdtempSync(join(CACHE, 'unfinished-'));
  const run = (command: string, args: string[], env: NodeJS.ProcessEnv = {}, cwd = checkout) =>
    execFileSync(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' });
  try {
    // An index of its own leaves the index of this repository alone.
    const index = { GIT_INDEX_FILE: join(checkout, '.index') };
    try {
      run('git', ['read-tree', RELEASE_COMMIT], index, ROOT);
    } catch {
      printError(
        `The last release is not compared: git does not have its commit ${RELEASE_COMMIT}. ` +
          'In a shallow clone, `git fetch --unshallow` gets it.',
      );
      return;
    }
    run('git', ['checkout-index', '--all', `--prefix=${checkout}/`], index, ROOT);
    const lockOf = (folder: string) => readFileSync(join(folder, 'package-lock.json'), 'utf8');
    if (lockOf(checkout) === lockOf(ROOT))
      symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
    else run('npm', ['ci']);
    const example = join(checkout, 'examples/environments/staging.json');
    const settings = JSON.parse(readFileSync(example, 'utf8'));
    writeFileSync(example, JSON.stringify({ ...settings, ...WITH_EDGE }));
    for (const name of ENVIRONMENTS) {
      const context = [`env=${name}`, 'example=true', 'checked=false'];
      const args = ['synth', '--quiet', ...context.flatMap((value) => ['-c', value])];
      run('node_modules/.bin/cdk', [...args, '--output', join(built, name)]);
    }
    renameSync(built, FOLDER);
  } finally {
    for (const folder of [checkout, built]) rmSync(folder, { recursive: true, force: true });
  }
}
