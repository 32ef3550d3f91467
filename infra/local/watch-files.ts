import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The 250 files of this project take two milliseconds. */
const INTERVAL_MS = 150;
/**
 * The interval in which polling takes a fortieth of the time, even on a busy machine or a slow
 * disk.
 */
const INTERVAL_PER_DURATION = 40;
/** A poll during which the machine stood still for a second must not delay the next one by many. */
const INTERVAL_MS_MAX = 2000;

interface Watched {
  /** Paths below the root: folders, searched with their subfolders, and files. */
  readonly paths: readonly string[];
  readonly isWatched: (file: string) => boolean;
  readonly onChange: (files: readonly string[]) => void;
}

/**
 * Watches files by polling. `fs.watch` misses every change after a file or folder has been replaced
 * by a rename, which is how git and many editors write.
 */
export function watchFiles(root: string, { paths, isWatched, onChange }: Watched): void {
  let before = fingerprints(root, paths, isWatched);
  const changed = new Set<string>();
  const poll = () => {
    const started = performance.now();
    const now = fingerprints(root, paths, isWatched);
    const differences = [...before.keys(), ...now.keys()].filter(
      (file) => before.get(file) !== now.get(file),
    );
    before = now;
    for (const file of differences) changed.add(file);
    setTimeout(poll, intervalAfter(performance.now() - started)).unref();
    // A checkout changes many files one after the other.
    if (differences.length > 0 || changed.size === 0) return;
    const files = [...changed].sort();
    changed.clear();
    onChange(files);
  };
  setTimeout(poll, INTERVAL_MS).unref();
}

export function intervalAfter(duration: number): number {
  return Math.min(INTERVAL_MS_MAX, Math.max(INTERVAL_MS, INTERVAL_PER_DURATION * duration));
}

/**
 * Identifies the content of each file; also differs after a rename that keeps the time of the last
 * change.
 */
function fingerprints(
  root: string,
  paths: readonly string[],
  isWatched: (file: string) => boolean,
) {
  const found = new Map<string, string>();
  for (const file of paths.flatMap((path) => filesIn(root, path))) {
    const stats = isWatched(file) && statSync(join(root, file), { throwIfNoEntry: false });
    if (stats) found.set(file, `${stats.mtimeMs} ${stats.size} ${stats.ino}`);
  }
  return found;
}

/**
 * The files of a folder, or the path itself if it is none. A folder that is being replaced has no
 * files.
 */
function filesIn(root: string, path: string): string[] {
  return (
    entriesOf(join(root, path))?.flatMap((entry) => {
      const inner = `${path}/${entry.name}`;
      return entry.isDirectory() ? filesIn(root, inner) : [inner];
    }) ?? [path]
  );
}

function entriesOf(folder: string): Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return undefined;
  }
}
