import { globSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../bundle/bundle.ts';
import { localTransport } from '../settings/transport.ts';
import { synthesizeLocal } from '../stack/synthesize-app.ts';
import type { Cloud } from './cloud.ts';

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
    await synthesizeLocal(next, { checked: false, 'gatehouse:debugger': forDebugger });
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

const INTERVAL_MS = 250;
const WATCHED = [
  '{functions,lib,infra}/**/*.{ts,mts}',
  'console/**/*.{ts,tsx,css,html}',
  'routes.ts',
  'openapi.json',
  'cdk.json',
  'lib/mail/texts/*.json',
  'environments/{,mail/}*.json',
  'examples/environments/*.json',
];

/**
 * Watches the source by polling. `fs.watch` misses every change after a file or folder has been
 * replaced by a rename, which is how git and many editors write.
 */
function watchFiles(root: string, onChange: (files: readonly string[]) => void): void {
  let before = versions(root);
  const changed = new Set<string>();
  const poll = () => {
    const now = versions(root);
    const differences = [...before.keys(), ...now.keys()].filter(
      (file) => before.get(file) !== now.get(file),
    );
    before = now;
    for (const file of differences) changed.add(file);
    // A checkout changes many files one after the other.
    if (differences.length > 0 || changed.size === 0) return;
    const files = [...changed].sort();
    changed.clear();
    onChange(files);
  };
  setInterval(poll, INTERVAL_MS).unref();
}

/** Tells versions of each file apart, also after a rename that keeps the time of the change. */
function versions(root: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const file of globSync(WATCHED, { cwd: root })) {
    const stats = statSync(join(root, file), { throwIfNoEntry: false });
    if (stats) found.set(file, `${stats.mtimeMs} ${stats.size} ${stats.ino}`);
  }
  return found;
}
