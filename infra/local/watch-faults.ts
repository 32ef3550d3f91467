import { existsSync, readFileSync, watchFile } from 'node:fs';
import { join, relative } from 'node:path';
import { counted } from '../../lib/runtime/counted.ts';
import { print } from '../commands/command-line.ts';
import type { openFaults } from './aws/faults.ts';
import type { Cloud } from './cloud.ts';
import type { State } from './state/state.ts';

type Faults = ReturnType<typeof openFaults>;

/**
 * Injects the faults of a file in the state folder. Called once the stack runs, because rules can
 * name its functions only.
 */
export function watchFaults(faults: Faults, cloud: Cloud, { database }: State): void {
  if (!database) return;
  const file = join(database, '../faults.json');
  if (existsSync(file)) loadFaults(faults, file, cloud);
  // The listener is also called once if the file does not exist, with equal times.
  watchFile(file, { interval: 200, persistent: false }, ({ mtimeMs }, before) => {
    if (mtimeMs !== before.mtimeMs) loadFaults(faults, file, cloud);
  });
}

function loadFaults(faults: Faults, file: string, { functions }: Cloud): void {
  const name = relative('.', file);
  try {
    const rules = JSON.parse(readFileSync(file, 'utf8'));
    faults.inject(
      rules,
      functions.map(({ name }) => name),
    );
    print(`Injecting faults from ${name}: ${counted(rules.length, 'rule')}`);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isMissing) faults.inject([]);
    print(
      isMissing
        ? 'Stopped injecting faults'
        : `The faults are unchanged, because ${name} is invalid: ${(error as Error).message}`,
    );
  }
}
