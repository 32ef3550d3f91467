import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';

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
export function watchFiles(root: string, onChange: (files: readonly string[]) => void): void {
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
