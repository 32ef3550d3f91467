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

/** What the local cloud keeps between two starts, or forgets when it stops. */
export interface State {
  /** The engine's file; undefined when it keeps its data in memory. */
  readonly database: string | undefined;
  /** The folder that stacks are synthesized below. */
  readonly assemblies: string;
  /** Remembers the engine, so that the next start can end one that has outlived its service. */
  engineStarted(pid: number | undefined): void;
  /** Remembers where the table is served, so that another process can look into it. */
  tableServed(place: TablePlace): void;
  /** A file's content, or undefined. */
  read(name: string): string | undefined;
  /** Writes a file that only its owner can read, and has it on the disk before it returns. */
  write(name: string, content: string): void;
  close(): void;
}

/** Where a table is, behind which address of AWS. */
export interface TablePlace {
  readonly endpoint: string;
  readonly region: string;
  readonly tableName: string;
}

interface Owners {
  readonly service: string;
  readonly engine?: string | undefined;
  readonly table?: TablePlace | undefined;
}

const LOCK = 'processes.json';
const DATABASE = 'gatehouse.db';

/** State that ends with the process. */
export function openMemoryState(): State {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const files = new Map<string, string>();
  const close = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', close);
  return {
    database: undefined,
    assemblies: folder,
    engineStarted: () => undefined,
    tableServed: () => undefined,
    read: (name) => files.get(name),
    write: (name, content) => void files.set(name, content),
    close() {
      process.off('exit', close);
      close();
    },
  };
}

/** State in a folder. Refuses one that another running service uses; ends an engine that a killed service has left behind. */
export async function openState(path: string): Promise<State> {
  const folder = resolve(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = join(folder, LOCK);
  const service = identityOf(process.pid) as string;

  for (;;) {
    try {
      writeFileSync(lock, JSON.stringify({ service }), { flag: 'wx' });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await releaseDead(lock, folder);
    }
  }

  let owners: Owners = { service };
  const own = (more: Partial<Owners>) => {
    owners = { ...owners, ...more };
    // Whoever reads it meanwhile must not take a half-written one for that of a dead owner.
    writeFileSync(`${lock}.new`, JSON.stringify(owners));
    renameSync(`${lock}.new`, lock);
  };
  return {
    database: join(folder, DATABASE),
    assemblies: join(folder, 'assemblies'),
    engineStarted: (pid) => own({ engine: pid ? identityOf(pid) : undefined }),
    tableServed: (table) => own({ table }),
    read(name) {
      try {
        return readFileSync(join(folder, name), 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    write: (name, content) => writeDurably(folder, name, content),
    close: () => rmSync(lock, { force: true }),
  };
}

/** Whether there is any data in a folder. */
export const hasDatabase = (path: string): boolean => existsSync(join(path, DATABASE));

/** Where the service that runs on a folder serves its table; undefined when none runs. Fails when it is just starting. */
export function runningTable(path: string): TablePlace | undefined {
  const lock = join(path, LOCK);
  if (!existsSync(lock)) return undefined;
  const { service, table } = parse(readFileSync(lock, 'utf8'));
  if (!isAlive(service)) return undefined;
  if (!table) throw new Error(`${path} is in use by process ${pidOf(service)}, which serves no table yet. Try again.`);
  return table;
}

async function releaseDead(lock: string, folder: string): Promise<void> {
  const { service, engine } = parse(readFileSync(lock, 'utf8'));
  if (isAlive(service)) {
    throw new Error(
      `${folder} is in use by a running Gatehouse (process ${pidOf(service)}). Stop it, or set STATE_DIR to another folder.`,
    );
  }
  if (engine && isAlive(engine)) {
    process.kill(pidOf(engine), 'SIGTERM');
    for (let tries = 0; isAlive(engine); tries++) {
      if (tries === 200) process.kill(pidOf(engine), 'SIGKILL');
      await wait(10);
    }
  }
  rmSync(lock, { force: true });
}

/** A lock that was being written when its owner was killed names nobody. */
function parse(text: string): Partial<Owners> {
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

/** A process, not to be mistaken for a later one with the same number: Linux says when it started. */
function identityOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch {
    return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie is dead.
    return fields[0] === 'Z' ? undefined : `${pid}:${fields[19]}`;
  } catch {
    return String(pid);
  }
}

const pidOf = (identity: string | undefined): number => Number(identity?.split(':')[0]);
const isAlive = (identity: string | undefined): boolean =>
  identity !== undefined && identityOf(pidOf(identity)) === identity;
