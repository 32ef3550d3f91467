import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** The storage of the local cloud: in a folder that outlives the process, or in memory. */
export interface State {
  /** The engine's database file; undefined if it stores its data in memory. */
  readonly database: string | undefined;
  /** The parent folder of all cloud assemblies. */
  readonly assemblies: string;
  /** Records the engine's process, so that the next start can terminate it if a crash has left it running. */
  recordEngine(pid: number | undefined): void;
  /** Records how to reach the table, so that the operator's commands can connect to it. */
  recordTable(location: TableLocation): void;
  /** The content of a file; undefined if it does not exist. */
  read(name: string): string | undefined;
  /** Writes a file that only its owner can read, and flushes it to disk before returning. */
  write(name: string, content: string): void;
  close(): void;
}

interface TableLocation {
  readonly endpoint: string;
  readonly region: string;
  readonly tableName: string;
}

/** The content of the lock file: the processes that use the folder, as pid:startTime, and the table that they serve. */
interface Lock {
  readonly service: string;
  readonly engine?: string | undefined;
  readonly table?: TableLocation | undefined;
}

const LOCK_FILE = 'processes.json';
const DATABASE = 'gatehouse.db';

export function openMemoryState(): State {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const files = new Map<string, string>();
  const close = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', close);
  return {
    database: undefined,
    assemblies: folder,
    recordEngine: () => undefined,
    recordTable: () => undefined,
    read: (name) => files.get(name),
    write: (name, content) => void files.set(name, content),
    close() {
      process.off('exit', close);
      close();
    },
  };
}

/** Opens a folder. Throws if a running service uses it; terminates an engine that a killed service has left running. */
export async function openState(path: string): Promise<State> {
  const folder = resolve(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lockFile = join(folder, LOCK_FILE);
  const service = processIdentity(process.pid) as string;

  for (;;) {
    try {
      writeFileSync(lockFile, JSON.stringify({ service }), { flag: 'wx' });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await releaseStaleLock(lockFile, folder);
    }
  }

  let lock: Lock = { service };
  const updateLock = (changes: Partial<Lock>) => {
    lock = { ...lock, ...changes };
    // The rename is atomic: a reader must not mistake a partially written file for a stale lock.
    writeFileSync(`${lockFile}.new`, JSON.stringify(lock));
    renameSync(`${lockFile}.new`, lockFile);
  };
  return {
    database: join(folder, DATABASE),
    assemblies: join(folder, 'assemblies'),
    recordEngine: (pid) => updateLock({ engine: pid ? processIdentity(pid) : undefined }),
    recordTable: (table) => updateLock({ table }),
    read(name) {
      try {
        return readFileSync(join(folder, name), 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    write: (name, content) => writeDurably(folder, name, content),
    close: () => rmSync(lockFile, { force: true }),
  };
}

export const hasDatabase = (path: string): boolean => existsSync(join(path, DATABASE));

/** The table of the service that runs on a folder; undefined if none runs. Throws while the service is starting. */
export function runningTable(path: string): TableLocation | undefined {
  const lockFile = join(path, LOCK_FILE);
  if (!existsSync(lockFile)) return undefined;
  const { service, table } = parseLock(readFileSync(lockFile, 'utf8'));
  if (!isAlive(service)) return undefined;
  if (!table) throw new Error(`${path} is in use by process ${pidOf(service)}, which has no table yet. Try again.`);
  return table;
}

async function releaseStaleLock(lockFile: string, folder: string): Promise<void> {
  const { service, engine } = parseLock(readFileSync(lockFile, 'utf8'));
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
  rmSync(lockFile, { force: true });
}

/** A process that is killed while creating the lock leaves invalid JSON behind. */
function parseLock(text: string): Partial<Lock> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
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

/** A running process as pid:startTime, because the system reuses pids. Outside Linux, only the pid is available. */
function processIdentity(pid: number): string | undefined {
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
