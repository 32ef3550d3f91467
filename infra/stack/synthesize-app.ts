import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentNames, readCdkJson } from '../settings/environment-files.ts';
import { LOCAL } from '../settings/read-settings.ts';
import { localTransport } from '../settings/transport.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Synthesizes the CDK app into a folder, in a child process, as the CDK CLI does. Asset staging is
 * off, so functions can be bundled again without a new template. `context` overrides the context of
 * `cdk.json`. Throws what the app prints.
 */
export async function synthesizeApp(assembly: string, context: object): Promise<void> {
  rmSync(assembly, { recursive: true, force: true });
  mkdirSync(assembly, { recursive: true });
  const synthesis = promisify(execFile)(process.execPath, ['infra/app.ts'], {
    cwd: ROOT,
    env: {
      ...process.env,
      CDK_OUTDIR: assembly,
      // Validation takes seconds; `npm run check` validates the production template.
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({
        ...readCdkJson().context,
        'aws:cdk:disable-asset-staging': true,
        ...context,
      }),
    },
  });
  const kill = () => synthesis.child.kill();
  process.on('exit', kill);
  await synthesis
    .catch((error: Error & { stderr?: string }) => {
      throw new Error(`The stack could not be synthesized.\n${error.stderr || error.message}`);
    })
    .finally(() => process.off('exit', kill));
}

/** The environment that runs on this machine. */
const LOCAL_ENVIRONMENT = 'dev';

/**
 * Synthesizes the environment of this machine into a folder: the operator's, or else the
 * example. `changes` override the context; `checked` is about cdk-nag.
 */
export const synthesizeLocal = (
  assembly: string,
  changes: object = { checked: false },
): Promise<void> =>
  synthesizeApp(assembly, {
    env: LOCAL_ENVIRONMENT,
    example: !environmentNames().includes(LOCAL_ENVIRONMENT),
    [LOCAL]: true,
    transport: localTransport(),
    ...changes,
  });
