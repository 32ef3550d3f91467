import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A poll takes a fraction of it, even on a slow machine. */
const INTERVAL_MS = 250;

interface Watched {
  readonly folders: readonly string[];
  readonly files: readonly string[];
  readonly pattern: RegExp;
  readonly onChange: (files: readonly string[]) => void;
}

/**
 * Watches files by polling. `fs.watch` misses every change after a file or folder has been replaced
 * by a rename, which is how git and many editors write.
 */
export function watchFiles(root: string, watched: Watched): void {
  let before = fingerprints(root, watched);
  const changed = new Set<string>();
  const poll = () => {
    const now = fingerprints(root, watched);
    const differences = [...before.keys(), ...now.keys()].filter(
      (file) => before.get(file) !== now.get(file),
    );
    before = now;
    for (const file of differences) changed.add(file);
    // A checkout changes many files one after the other.
    if (differences.length > 0 || changed.size === 0) return;
    const files = [...changed].sort();
    changed.clear();
    watched.onChange(files);
  };
  setInterval(poll, INTERVAL_MS).unref();
}

/** Identifies the content of each file, also after a rename that keeps the time of the change. */
function fingerprints(root: string, { folders, files, pattern }: Watched) {
  const found = new Map<string, string>();
  const inFolders = folders.flatMap((folder) => filesIn(root, folder));
  for (const file of [...files, ...inFolders.filter((name) => pattern.test(name))]) {
    const stats = statSync(join(root, file), { throwIfNoEntry: false });
    if (stats) found.set(file, `${stats.mtimeMs} ${stats.size} ${stats.ino}`);
  }
  return found;
}

/** A folder that is being replaced has no files. */
function filesIn(root: string, folder: string): string[] {
  try {
    const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
    return names.map((name) => `${folder}/${name}`);
  } catch {
    return [];
  }
}
