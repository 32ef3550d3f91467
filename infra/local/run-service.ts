import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, watchFile } from 'node:fs';
import inspector from 'node:inspector';
import { join } from 'node:path';
import { print } from '../commands/command-line.ts';
import { announcement, logFileIn } from './announce.ts';
import { externalEngine } from './aws/engine.ts';
import { type Faults, openFaults } from './aws/faults.ts';
import { type Cloud, startCloud } from './cloud.ts';
import { openRequestLog, requestLine } from './gateway/request-log.ts';
import { readableError } from './lambda/readable-error.ts';
import { openAssembly, reloadOnChange } from './reload.ts';
import { openMemoryState, openState, type State } from './state/state.ts';

/** How long a debugger may pause a function; the timers of Node.js last at most 24 days. */
const PAUSE_MAX_MS = 24 * 60 * 60 * 1000;

type Status = 'stopped' | 'failed';

interface ServiceOptions {
  readonly port: number;
  readonly inspectPort: number | undefined;
  readonly mailLinkBase: string | undefined;
}

/** Runs the service until a signal. Resolves with the name of the exit status. */
export async function runService(options: ServiceOptions): Promise<Status> {
  const { port, inspectPort } = options;
  if (inspectPort !== undefined) openInspector(inspectPort);
  const { STATE_DIR } = process.env;
  const state =
    STATE_DIR === ':memory:' ? openMemoryState() : await openState(STATE_DIR || '.local');
  const ended = Promise.withResolvers<Status>();
  let starting: Promise<Cloud> | undefined;
  let stopping = false;
  const close = async () => {
    const cloud = await starting?.catch(() => undefined);
    await (cloud ? cloud.stop() : state.close());
  };
  const stop = (reason: string, status: Status) => {
    if (stopping) return;
    stopping = true;
    print(`Stopping: ${reason}`);
    close().then(() => ended.resolve(status), ended.reject);
  };
  stopOnSignal((signal) => stop(signal, 'stopped'));

  const assembly = openAssembly(state.assemblies, inspectPort !== undefined);
  const faults = openFaults();
  const engineUrl = externalEngine();
  print('Synthesizing the stack');
  starting = startCloud({
    assembly: assembly.synthesize(),
    state,
    engineUrl,
    port,
    onLine: openRequestLog(print, logFileIn(state)),
    onRejection: (rejection) => print(requestLine(rejection)),
    onError: (functionName, error) => print(`\n${functionName} failed: ${readableError(error)}\n`),
    mailLinkBase: options.mailLinkBase,
    timeoutMs: inspectPort === undefined ? undefined : PAUSE_MAX_MS,
    intercept: faults.intercept,
    // More would take memory (docs/adr/0003) and compete for the processor.
    maxInstancesPerFunction: 3,
    onEngineExit: (reason) => stop(`The DynamoDB engine has exited. ${reason}`, 'failed'),
  });
  reloadOnChange(starting, assembly, print);
  try {
    const cloud = await starting;
    if (!stopping) watchFaults(faults, cloud, state);
    if (!stopping) for (const line of await announcement(cloud, state, engineUrl)) print(line);
  } catch (error) {
    if (!stopping) {
      await close();
      throw error;
    }
  }
  return ended.promise;
}

function stopOnSignal(stop: (signal: string) => void): void {
  let signalledAt = Number.POSITIVE_INFINITY;
  // SIGHUP: the terminal was closed.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // The listener of every command ends the process at once.
    process.removeAllListeners(signal);
    process.on(signal, () => {
      // npm forwards the signal of the terminal, so only a later one is a second Ctrl-C.
      if (Date.now() - signalledAt > 1000) endNow();
      signalledAt = Math.min(signalledAt, Date.now());
      stop(signal);
    });
  }
}

/**
 * Ends the process after its exit listeners. Node itself would wait for a function that a debugger
 * has paused, even after SIGKILL.
 */
function endNow(): never {
  process.on('exit', () => spawnSync('kill', ['-KILL', String(process.pid)]));
  process.exit(1);
}

function openInspector(wanted: number): void {
  inspector.open(wanted, '127.0.0.1');
  if (!inspector.url())
    throw new Error(`Port ${wanted} is taken. Choose another port for --inspect.`);
}

/** Injects the faults of a file in the state folder. */
function watchFaults(faults: Faults, cloud: Cloud, { folder }: State): void {
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
