import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { contentOf, parseJson } from './durable-file.ts';

export interface TableLocation {
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

/**
 * Locks a folder for this process. Throws if a running service uses it; terminates an engine that a
 * killed service has left running.
 */
export async function lockFolder(folder: string) {
  const lockFile = join(folder, LOCK_FILE);
  const service = processIdentity(process.pid) as string;
  while (!createLock(lockFile, { service })) await releaseStaleLock(lockFile, folder);

  let lock: Lock = { service };
  const update = (changes: Partial<Lock>): void => {
    lock = { ...lock, ...changes };
    // The rename is atomic: a reader must not mistake a partially written file for a stale lock.
    writeFileSync(`${lockFile}.new`, JSON.stringify(lock));
    renameSync(`${lockFile}.new`, lockFile);
  };
  return {
    recordEngine: (pid: number | undefined) =>
      update({ engine: pid ? processIdentity(pid) : undefined }),
    recordTable: (table: TableLocation) => update({ table }),
    release: () => rmSync(lockFile, { force: true }),
  };
}

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
