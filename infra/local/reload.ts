import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../bundle/bundle.ts';
import { localTransport } from '../settings/transport.ts';
import type { Cloud } from './cloud.ts';
import { synthesize } from './stack/synthesize.ts';
import { watchFiles } from './watch-files.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAMES_MAX = 3;

/** Opens the cloud assembly of a start. With `forDebugger`, the bundles are not minified. */
export function openAssembly(folder: string, forDebugger: boolean) {
  let syntheses = 0;
  let current = '';

  /** Into a folder of its own, so the running stack keeps its files if the synthesis fails. */
  async function synthesizeNext(): Promise<string> {
    if (syntheses === 0) rmSync(folder, { recursive: true, force: true });
    const next = join(folder, String(++syntheses));
    await synthesize(next, { checked: false, 'gatehouse:debugger': forDebugger });
    return next;
  }

  return {
    async synthesize(): Promise<string> {
      current = await synthesizeNext();
      return current;
    },
    async reload(cloud: Cloud, changed: readonly string[]): Promise<void> {
      if (changed.every(isFunctionSource)) {
        await bundle(join(current, 'bundles'), { transport: localTransport(), forDebugger });
        return cloud.recycle();
      }
      const next = await synthesizeNext();
      await cloud.redeploy(next);
      rmSync(current, { recursive: true, force: true });
      current = next;
    },
  };
}

const isFunctionSource = (file: string): boolean =>
  /^(functions\/|lib\/.*\.ts$|console\/|openapi\.json$)/.test(file);
const isLocalCloud = (file: string): boolean => file.startsWith('infra/local/');

/**
 * Reloads when the source changes: a change in functions/, lib/ or console/ rebuilds the bundles; a
 * change in routes.ts, the settings, the texts of mails or the stack synthesizes the stack again.
 */
export function reloadOnChange(
  starting: Promise<Cloud>,
  assembly: ReturnType<typeof openAssembly>,
  print: (line: string) => void,
): void {
  let pendingWork: Promise<unknown> = starting;
  /** Files whose change could not be applied; the next change may fix the error. */
  let failed: readonly string[] = [];

  async function reload(files: readonly string[]): Promise<void> {
    const cloud = await starting;
    const shown = files.slice(0, NAMES_MAX).join(', ');
    const names = files.length > NAMES_MAX ? `${shown} and others` : shown;
    if (files.some(isLocalCloud)) print(`Changed ${names}: restart to apply the change`);
    const applicable = files.filter((file) => !isLocalCloud(file));
    if (applicable.length === 0) return;
    const affected = [...new Set([...failed, ...applicable])];
    print(`Changed ${names}: reloading`);
    const started = Date.now();
    try {
      await cloud.holdRequestsDuring(() => assembly.reload(cloud, affected));
      failed = [];
      print(`Changed ${names}: reloaded in ${Date.now() - started} ms`);
    } catch (error) {
      failed = affected;
      print(`Still running the previous version: ${(error as Error).message}`);
    }
  }

  watchFiles(ROOT, (files) => {
    pendingWork = pendingWork.then(() => reload(files)).catch(() => undefined);
  });
}
