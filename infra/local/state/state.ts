import { randomUUID } from 'node:crypto';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { contentOf, parseJson, shownPath, startOver, writeAtomically } from './files.ts';
import { lockFolder } from './folder-lock.ts';

/** The storage of the local cloud: in a folder that outlives the process, or in memory. */
export type State = Awaited<ReturnType<typeof openState>>;

/** Keeps the state in memory, and its assemblies in a temporary folder. */
export function openMemoryState(): State {
  const assemblies = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const files = new Map<string, string>();
  const remove = () => rmSync(assemblies, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    folder: undefined,
    tableSuffix: `-${randomUUID().slice(0, 8)}`,
    assemblies,
    record: () => undefined,
    read: (name) => files.get(name),
    write: (name, content) => void files.set(name, content),
    close() {
      process.off('exit', remove);
      remove();
    },
  };
}

/** Throws if a running service uses the folder; terminates the engine of a killed one. */
export async function openState(path: string) {
  const folder = resolve(path);
  createFolder(folder);
  const { record, release } = await lockFolder(folder);
  return {
    /** Relative to the working folder, as messages name it; undefined in memory. */
    folder: shownPath(folder) as string | undefined,
    /** Of the name of the table; unique in memory, because others may share an external engine. */
    tableSuffix: '',
    assemblies: join(folder, 'assemblies'),
    /** Records what the next start and operators' commands need to know about this one. */
    record,
    read: (name: string) => contentOf(join(folder, name)),
    write: (name: string, content: string): void => writeAtomically(folder, name, content),
    close: release,
  };
}

/** Throws an error that names an invalid file and its remedy. */
export function readJson<T>({ read, folder = '' }: State, name: string, remedy?: string) {
  const text = read(name);
  if (text === undefined) return undefined;
  return parseJson<T>(join(folder, name), text, remedy ?? startOver(folder));
}

export const databaseIn = (folder: string): string => join(folder, 'gatehouse.db');

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new Error(
      `The folder ${folder} cannot be created or written to ` +
        `(${(error as NodeJS.ErrnoException).code}). Set STATE_DIR to another folder.`,
    );
  }
}
