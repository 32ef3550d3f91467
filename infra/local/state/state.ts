import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { DATABASE, shownPath, startOver } from './database.ts';

/** The storage of the local cloud: in a folder that outlives the process, or in memory. */
export interface State {
  /** The engine's database file; undefined if it stores its data in memory. */
  readonly database: string | undefined;
  /**
   * Appended to the name of the table. Unique in memory, because other instances may share an
   * external engine.
   */
  readonly tableSuffix: string;
  /** The folder of the state as messages name it; undefined if it is in memory. */
  readonly folder: string | undefined;
  /** The parent folder of all cloud assemblies. */
  readonly assemblies: string;
  /**
   * Records the engine's process, so that the next start can terminate it if a crash has left it
   * running.
   */
  recordEngine(pid: number | undefined): void;
  /** Records how to reach the table, so that the operator's commands can connect to it. */
  recordTable(location: TableLocation): void;
  /** The content of a file; undefined if it does not exist. */
  read(name: string): string | undefined;
  /**
   * The content of a JSON file; undefined if it does not exist. Throws an error that names the file
   * if it is invalid, and the remedy, which is to start over unless another one is given.
   */
  readJson<T>(name: string, remedy?: string): T | undefined;
  /** Writes a file that only its owner can read, and flushes it to disk before returning. */
  write(name: string, content: string): void;
  close(): void;
}

interface TableLocation {
  readonly endpoint: string;
  readonly region: string;
  readonly tableName: string;
}

/**
 * The content of the lock file: the processes that use the folder, as pid:startTime, and the table
 * that they serve.
 */
interface Lock {
  readonly service: string;
  readonly engine?: string | undefined;
  readonly table?: TableLocation | undefined;
}

const LOCK_FILE = 'processes.json';

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
  const lockFile = join(folder, LOCK_FILE);
  const service = processIdentity(process.pid) as string;
  while (!createLock(lockFile, { service })) await releaseStaleLock(lockFile, folder);

  let lock: Lock = { service };
  const updateLock = (changes: Partial<Lock>) => {
    lock = { ...lock, ...changes };
    // The rename is atomic: a reader must not mistake a partially written file for a stale lock.
    writeFileSync(`${lockFile}.new`, JSON.stringify(lock));
    renameSync(`${lockFile}.new`, lockFile);
  };
  const read = (name: string) => contentOf(join(folder, name));
  return {
    database: join(folder, DATABASE),
    tableSuffix: '',
    folder: shownPath(folder),
    assemblies: join(folder, 'assemblies'),
    recordEngine: (pid) => updateLock({ engine: pid ? processIdentity(pid) : undefined }),
    recordTable: (table) => updateLock({ table }),
    read,
    readJson(name, remedy = startOver(folder)) {
      const text = read(name);
      return text === undefined ? undefined : parseJson(join(folder, name), text, remedy);
    },
    write: (name, content) => writeDurably(folder, name, content),
    close: () => rmSync(lockFile, { force: true }),
  };
}

export const hasDatabase = (path: string): boolean => existsSync(join(path, DATABASE));

/**
 * The table of the service that runs on a folder; undefined if none runs. Throws while the service
 * is starting.
 */
export function runningTable(path: string): TableLocation | undefined {
  const { service, table } = readLock(join(path, LOCK_FILE)) ?? {};
  if (!isAlive(service)) return undefined;
  if (!table)
    throw new Error(
      `${path} is in use by process ${pidOf(service)}, which has no table yet. Try again.`,
    );
  return table;
}

async function releaseStaleLock(lockFile: string, folder: string): Promise<void> {
  const stale = readLock(lockFile);
  if (!stale) return;
  const { service, engine } = stale;
  if (isAlive(service)) {
    throw new Error(
      `${folder} is in use by a running Gatehouse (process ${pidOf(service)}). ` +
        'Stop it, or set STATE_DIR to another folder.',
    );
  }
  if (engine && isAlive(engine)) {
    process.kill(pidOf(engine), 'SIGTERM');
    for (let tries = 0; isAlive(engine); tries++) {
      if (tries === 200) process.kill(pidOf(engine), 'SIGKILL');
      await wait(10);
    }
  }
  // Another start may have waited for the same engine and already own the folder.
  if (isDeepStrictEqual(readLock(lockFile), stale)) rmSync(lockFile, { force: true });
}

/** Creates a folder and checks that files can be created in it. */
function createFolder(folder: string): void {
  try {
    makeFolders(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' || code === 'ENOTDIR' ? 'a part of the path is a file' : code;
    throw new Error(
      `The folder ${folder} cannot be created or written to (${reason}). Set STATE_DIR to another folder.`,
    );
  }
}

/** Not the recursive `mkdirSync`, which never returns for a folder below /proc. */
function makeFolders(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  makeFolders(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/**
 * Returns false if the file exists. Appears with its whole content, so that a kill cannot leave a
 * partial lock.
 */
function createLock(lockFile: string, lock: Lock): boolean {
  const temporary = `${lockFile}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(lock));
  try {
    linkSync(temporary, lockFile);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Undefined without a lock: its service can end at any moment, and removes it. */
function readLock(lockFile: string): Partial<Lock> | undefined {
  const text = contentOf(lockFile);
  return text === undefined
    ? undefined
    : parseJson(lockFile, text, 'delete it unless another Gatehouse uses the folder');
}

/** The text of a file; undefined if there is none, also because a part of its path is a file. */
function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function parseJson<T>(file: string, text: string, remedy: string): T {
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // The message of the parser would quote the content, which may be a key.
  }
  throw new Error(`${shownPath(file)} is not valid JSON: ${remedy}.`);
}

function writeDurably(folder: string, name: string, content: string): void {
  const temporary = join(folder, `${name}.new`);
  const file = openSync(temporary, 'w', 0o600);
  writeFileSync(file, content);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, join(folder, name));
  const directory = openSync(folder, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

/**
 * A running process as pid:startTime, because the system reuses pids. Outside Linux, only the pid
 * is available.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch {
    return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // State Z is a zombie: the process has exited.
    return fields[0] === 'Z' ? undefined : `${pid}:${fields[19]}`;
  } catch {
    return String(pid);
  }
}

const pidOf = (identity: string | undefined): number => Number(identity?.split(':')[0]);
const isAlive = (identity: string | undefined): boolean =>
  identity !== undefined && processIdentity(pidOf(identity)) === identity;
