import { randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DATABASE, shownPath, startOver } from './database.ts';
import { contentOf, parseJson, writeDurably } from './durable-file.ts';
import { lockFolder, type TableLocation } from './folder-lock.ts';

export interface State {
  readonly database: string | undefined;
  /**
   * Appended to the name of the table. Unique in memory, because other instances may share an
   * external engine.
   */
  readonly tableSuffix: string;
  /** The folder of the state as messages name it; undefined if it is in memory. */
  readonly folder: string | undefined;
  readonly assemblies: string;
  /**
   * Records the engine's process, so that the next start can terminate it if a crash has left it
   * running.
   */
  recordEngine(pid: number | undefined): void;
  /** Records how to reach the table, so that the operator's commands can connect to it. */
  recordTable(location: TableLocation): void;
  read(name: string): string | undefined;
  /**
   * The content of a JSON file; undefined if it does not exist. Throws an error that names the file
   * if it is invalid, and the remedy, which is to start over unless another one is given.
   */
  readJson<T>(name: string, remedy?: string): T | undefined;
  write(name: string, content: string): void;
  close(): void;
}

export function openMemoryState(): State {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const files = new Map<string, string>();
  const close = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', close);
  return {
    database: undefined,
    tableSuffix: `-${randomUUID().slice(0, 8)}`,
    folder: undefined,
    assemblies: folder,
    recordEngine: () => undefined,
    recordTable: () => undefined,
    read: (name) => files.get(name),
    readJson: (name) => JSON.parse(files.get(name) ?? 'null') ?? undefined,
    write: (name, content) => void files.set(name, content),
    close() {
      process.off('exit', close);
      close();
    },
  };
}

/**
 * Opens a folder. Throws if a running service uses it; terminates an engine that a killed service
 * has left running.
 */
export async function openState(path: string): Promise<State> {
  const folder = resolve(path);
  createFolder(folder);
  const lock = await lockFolder(folder);
  const read = (name: string) => contentOf(join(folder, name));
  return {
    database: join(folder, DATABASE),
    tableSuffix: '',
    folder: shownPath(folder),
    assemblies: join(folder, 'assemblies'),
    recordEngine: lock.recordEngine,
    recordTable: lock.recordTable,
    read,
    readJson(name, remedy = startOver(folder)) {
      const text = read(name);
      return text === undefined ? undefined : parseJson(join(folder, name), text, remedy);
    },
    write: (name, content) => writeDurably(folder, name, content),
    close: lock.release,
  };
}

export const hasDatabase = (path: string): boolean => existsSync(join(path, DATABASE));

function createFolder(folder: string): void {
  try {
    makeFolders(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' || code === 'ENOTDIR' ? 'a part of the path is a file' : code;
    throw new Error(
      `The folder ${folder} cannot be created or written to (${reason}). Set STATE_DIR to ` +
        'another folder.',
    );
  }
}

/** Not the recursive `mkdirSync`, which never returns for a folder below /proc. */
function makeFolders(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  makeFolders(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}
