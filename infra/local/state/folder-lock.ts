import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { contentOf, parseJson, writeAtomically } from './files.ts';

/** What uses a folder: processes as pid:startTime, and the table that they serve. */
interface Lock {
  readonly service: string;
  readonly engine?: string | undefined;
  readonly table?: {
    readonly endpoint: string;
    readonly region: string;
    readonly tableName: string;
  };
}

const LOCK_FILE = 'processes.json';

/** Throws if a running service uses the folder; terminates the engine of a killed one. */
export async function lockFolder(folder: string) {
  const lockFile = join(folder, LOCK_FILE);
  let lock: Lock = { service: processIdentity(process.pid) as string };
  while (!createLock(lockFile, lock)) await releaseStaleLock(lockFile, folder);
  return {
    record(facts: Omit<Lock, 'service'>): void {
      lock = { ...lock, ...facts };
      writeAtomically(folder, LOCK_FILE, JSON.stringify(lock));
    },
    release: () => rmSync(lockFile, { force: true }),
  };
}

/** The table of the service that runs on a folder; undefined while it is starting. */
export function runningTable(path: string): Lock['table'] {
  const { service, table } = readLock(join(path, LOCK_FILE)) ?? {};
  return isAlive(service) ? table : undefined;
}

async function releaseStaleLock(lockFile: string, folder: string): Promise<void> {
  const stale = readLock(lockFile);
  if (!stale) return;
  const { service, engine } = stale;
  if (isAlive(service))
    throw new Error(
      `${folder} is in use by a running Gatehouse (process ${pidOf(service)}). ` +
        'Stop it, or set STATE_DIR to another folder.',
    );
  for (let tries = 0; isAlive(engine); tries++) {
    if (tries % 200 === 0) process.kill(pidOf(engine), tries ? 'SIGKILL' : 'SIGTERM');
    await wait(10);
  }
  rmSync(lockFile, { force: true });
}

function createLock(lockFile: string, lock: Lock): boolean {
  try {
    writeFileSync(lockFile, JSON.stringify(lock), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Undefined without a lock: its service can end at any moment, and removes it. */
function readLock(lockFile: string): Partial<Lock> | undefined {
  const text = contentOf(lockFile);
  return text === undefined
    ? undefined
    : parseJson(lockFile, text, 'delete it unless another Gatehouse uses the folder');
}

/** pid:startTime, because the system reuses pids; outside Linux, only the pid is available. */
export function processIdentity(pid = Number.NaN): string | undefined {
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
