import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import { removeFolders } from './folders.ts';

/* Runs `npm start` as a developer does, in a process of its own, with the shipped settings. */

const running = new Set<ChildProcess>();

/** Stops what still runs, which must end with status 0, and removes the folders of the test file. */
export async function stopAll(): Promise<void> {
  const statuses: unknown[] = [];
  for (const child of running) {
    child.kill('SIGTERM');
    const [status] = await once(child, 'exit');
    statuses.push(status);
  }
  removeFolders();
  assert.deepEqual(
    statuses.filter((status) => status !== 0),
    [],
    'exit statuses on SIGTERM',
  );
}

const STAT = /^(?<pid>\d+) \(.*\) (?<state>\w) \d+ (?<group>\d+)/s;

/** Whether a process, or a member of a process group, is alive. Not every machine has `ps`. */
export const isRunning = (column: 'pid' | 'group', id: number): boolean =>
  readdirSync('/proc').some((name) => {
    try {
      const stat = STAT.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.groups;
      return stat?.state !== 'Z' && Number(stat?.[column]) === id;
    } catch {
      return false;
    }
  });

export interface Launched {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<number | null>;
  /** Resolves with the first line from this position on that contains the text, now or later. */
  line(text: string, from?: number): Promise<string>;
}

/** Starts the process in this copy of the repository. */
export function launchStart(
  environment: Record<string, string>,
  {
    root = inject('repository'),
    options = [],
  }: { root?: string; options?: readonly string[] } = {},
): Launched {
  const child = spawn(
    process.execPath,
    ['infra/commands/bin.mjs', 'infra/local/start.ts', ...options],
    {
      // A process group of its own, as a shell creates for each command.
      detached: true,
      cwd: root,
      env: { ...process.env, PORT: '0', ...environment },
    },
  );
  running.add(child);
  // Not `exit`, after which lines can still arrive.
  const ended = once(child, 'close').then(([status]) => {
    running.delete(child);
    return status as number | null;
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (text) => {
      lines.push(text);
      for (const look of waiting) look();
    });
  }
  const line = (text: string, from = 0) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = lines.slice(from).find((candidate) => candidate.includes(text));
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
      ended.then((status) =>
        reject(
          new Error(`It exited with ${status} before it printed ${text}:\n${lines.join('\n')}`),
        ),
      );
    });
  return { child, lines, ended, line };
}

/** Waits until the service is ready. Returns its URL. */
export async function urlOf({ line }: Launched): Promise<string> {
  const ready = await line('Gatehouse is ready at ');
  return ready.slice(ready.indexOf('http'));
}

export async function logIn(url: string, login: string): Promise<string> {
  const response = await fetch(`${url}/api/authenticate`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username: login, password: login }),
  });
  return ((await response.json()) as { id_token: string }).id_token;
}
