import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

const CHILD = join(import.meta.dirname, 'child.mjs');

interface Job {
  readonly bundle: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly events: readonly unknown[];
  readonly timeoutMs: number;
}

/** The measurements of a call. Those of the first one include the import of the bundle. */
export interface Invocation {
  readonly statusCode: number;
  readonly body?: string;
  readonly ms: number;
  /** From the start of Node until the response. */
  readonly cpuMsSoFar: number;
  readonly rssBytes: number;
}

/** Ends a child with this process, which can be interrupted at any time. */
export function endWithThis(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}

/** The next message of a child. Rejects if it exits instead. */
export function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const exited = (code: number | null) =>
      reject(new Error(`${child.spawnargs[1]} has exited with ${code}`));
    child.once('exit', exited).once('message', (message) => {
      child.off('exit', exited);
      resolve(message);
    });
  });
}

/** Far more than any measurement takes. */
export const CHILD_TIMEOUT_MS = 60_000;

/**
 * Runs a job in a fresh process whose environment is that of the function only. Rejects if the
 * process fails.
 */
export async function runChild({ environment, ...job }: Job): Promise<Invocation[]> {
  const child = spawn(process.execPath, [CHILD], {
    env: environment,
    // The functions log to standard output.
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
    timeout: CHILD_TIMEOUT_MS,
  });
  endWithThis(child);
  const [input, , errors, output] = child.stdio as unknown as [Writable, null, Readable, Readable];
  const ended = new Promise<number | null>((resolve, reject) =>
    child.on('exit', resolve).on('error', reject),
  );
  // A child that fails at once closes the pipe; its exit code tells more.
  input.on('error', () => undefined);
  input.end(JSON.stringify(job));
  const [report, errorText, code] = await Promise.all([text(output), text(errors), ended]);
  if (code !== 0)
    throw new Error(`${job.bundle} failed with ${code ?? child.signalCode}: ${errorText}`);
  return JSON.parse(report);
}
