import { existsSync, readFileSync, watchFile } from 'node:fs';
import { join } from 'node:path';
import { print } from '../commands/command-line.ts';
import type { Faults } from './aws/faults.ts';
import type { Cloud } from './cloud.ts';
import type { State } from './state/state.ts';

/** Injects the faults of a file in the state folder. */
export function watchFaults(faults: Faults, cloud: Cloud, { folder }: State): void {
  if (!folder) return;
  const file = join(folder, 'faults.json');
  if (existsSync(file)) loadFaults(faults, file, cloud);
  // The listener is also called once if the file does not exist, with equal times.
  watchFile(file, { interval: 200, persistent: false }, ({ mtimeMs }, before) => {
    if (mtimeMs !== before.mtimeMs) loadFaults(faults, file, cloud);
  });
}

function loadFaults(faults: Faults, file: string, { functions }: Cloud): void {
  try {
    const rules = JSON.parse(readFileSync(file, 'utf8'));
    faults.inject(
      rules,
      functions.map(({ name }) => name),
    );
    print(`Injecting faults from ${file}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') {
      faults.inject([]);
      print('Stopped injecting faults');
    } else print(`The faults are unchanged, because ${file} is invalid: ${message}`);
  }
}
