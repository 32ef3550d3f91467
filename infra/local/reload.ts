import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundle, localTransport } from '../bundle.ts';
import type { Cloud } from './cloud.ts';
import { synthesize } from './stack/synthesize.ts';
import { watchFiles } from './watch-files.ts';

const ROOT = join(import.meta.dirname, '../..');
/** A checkout can change hundreds of files. */
const NAMES_MAX = 3;

/** The cloud assembly that runs, and its successors. */
interface Assembly {
  /** Synthesizes the stack. Returns the folder. */
  synthesize(): Promise<string>;
  /** Applies changed files to a running cloud. */
  reload(cloud: Cloud, files: readonly string[]): Promise<void>;
}

/** Opens the cloud assembly of a start. With `forDebugger`, the bundles are not minified. */
export function openAssembly(folder: string, forDebugger: boolean): Assembly {
  let syntheses = 0;
  let current = '';

  /** Each synthesis has its own folder, so the running stack keeps its files if the next synthesis fails. */
  async function synthesizeNext(): Promise<string> {
    if (syntheses === 0) rmSync(folder, { recursive: true, force: true });
    const next = join(folder, String(++syntheses));
    await synthesize(next);
    if (forDebugger) await bundleInto(next);
    return next;
  }
  const bundleInto = (assembly: string, files?: string[]) =>
    bundle(join(assembly, 'bundles'), { transport: localTransport(), forDebugger, ...(files && { files }) });

  return {
    async synthesize() {
      current = await synthesizeNext();
      return current;
    },
    async reload(cloud, files) {
      if (files.some(isStackSource)) {
        const next = await synthesizeNext();
        await cloud.redeploy(next);
        rmSync(current, { recursive: true, force: true });
        current = next;
        return;
      }
      // A handler file is part of its own bundle only; it may also have been deleted.
      const handlers = files.filter((file) => file.startsWith('functions/') && existsSync(join(ROOT, file)));
      const isShared = files.some((file) => !file.startsWith('functions/'));
      await bundleInto(current, isShared ? undefined : handlers.map((file) => basename(file, '.ts')));
      cloud.recycle();
    },
  };
}

const isFunctionSource = (file: string): boolean => /^(functions\/|lib\/|openapi\.json$)/.test(file);
const isLocalCloud = (file: string): boolean => file.startsWith('infra/local/');
const isStackSource = (file: string): boolean => !isFunctionSource(file) && !isLocalCloud(file);

/**
 * Reloads when the source changes: a change in functions/ or lib/ rebuilds the bundles only; a change in routes.ts,
 * cdk.json or the stack synthesizes the stack again.
 */
export function reloadOnChange(starting: Promise<Cloud>, assembly: Assembly, print: (line: string) => void): void {
  let pendingWork: Promise<unknown> = starting;
  /** Files whose change could not be applied: the next change may fix the error, and is then applied with them. */
  let failed: readonly string[] = [];

  async function reload(files: readonly string[]): Promise<void> {
    const cloud = await starting;
    const names = nameFiles(files);
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

  watchFiles(ROOT, {
    paths: ['functions', 'lib', 'infra', 'routes.ts', 'openapi.json', 'cdk.json'],
    isWatched: (file) => /\.m?ts$/.test(file) || file === 'openapi.json' || file === 'cdk.json',
    onChange(files) {
      pendingWork = pendingWork.then(() => reload(files)).catch(() => undefined);
    },
  });
}

function nameFiles(files: readonly string[]): string {
  const others = files.length - NAMES_MAX;
  const shown = files.slice(0, NAMES_MAX).join(', ');
  return others > 0 ? `${shown} and ${others} ${others === 1 ? 'other' : 'others'}` : shown;
}
