import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * Synthesizes the CDK app into a folder, as the CDK's own tool would: another process that is told the context of
 * `cdk.json` and where to write. Bundles stay where esbuild wrote them, so that a new bundle needs no new template.
 * Fails with what the app says. `changes` stand in for what `cdk.json` has; unless they say otherwise, nothing is checked.
 */
export async function synthesize(assembly: string, changes: object = { checked: false }): Promise<void> {
  const { context } = JSON.parse(readFileSync(join(ROOT, 'cdk.json'), 'utf8'));
  rmSync(assembly, { recursive: true, force: true });
  mkdirSync(assembly, { recursive: true });
  await promisify(execFile)(process.execPath, ['infra/app.ts'], {
    cwd: ROOT,
    env: {
      ...process.env,
      CDK_OUTDIR: assembly,
      // Two of four seconds; `npm run check` validates the template of production.
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({ ...context, ...changes, 'aws:cdk:disable-asset-staging': true }),
    },
  }).catch((error: Error & { stderr?: string }) => {
    throw new Error(`The stack could not be synthesized.\n${error.stderr || error.message}`);
  });
}
