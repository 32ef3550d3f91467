import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, watchFile } from 'node:fs';
import inspector from 'node:inspector';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { counted } from '../../lib/runtime/counted.ts';
import { fail, print, readArguments, rejectArguments } from '../commands/command-line.ts';
import { explainError } from '../commands/explain-error.ts';
import { isHttpUrl } from '../settings/http-url.ts';
import { openPages } from './api-page/pages.ts';
import { explainDatabaseError } from './aws/explain-database-error.ts';
import { externalEngine } from './aws/external-engine.ts';
import { openFaults } from './aws/faults.ts';
import { setPasswordPage } from './aws/mailbox-pages.ts';
import { type Cloud, startCloud } from './cloud.ts';
import { createFirstAccounts } from './first-accounts.ts';
import { openRequestLog, requestLine } from './gateway/request-log.ts';
import { howToTry } from './how-to-try.ts';
import { readableError } from './lambda/readable-error.ts';
import { openAssembly, reloadOnChange } from './reload.ts';
import { openMemoryState, openState } from './state/state.ts';
import { whereDataIs } from './where-data-is.ts';

/* `npm start`: synthesizes the stack, runs it, and reloads it when its source changes. */

const { STATE_DIR, PORT = '3000', MAIL_LINK_BASE } = process.env;
const FAILED = 1;
/** How long a debugger may pause a function; the timers of Node.js last at most 24 days. */
const PAUSE_MAX_MS = 24 * 60 * 60 * 1000;

const COMMAND = {
  usage: 'npm start [-- --inspect PORT]',
  help: `Runs the service on this machine until Ctrl-C, and reloads it when its source changes.

Options:
  --inspect PORT  listen for a debugger on this port of 127.0.0.1; functions then have no timeouts

Environment variables:
  PORT                       the port to listen on; default 3000; 0 chooses a free port
  STATE_DIR                  the folder for data and keys; default .local; :memory: keeps nothing
  AWS_ENDPOINT_URL_DYNAMODB  the URL of a DynamoDB engine to use instead of the embedded one
  MAIL_LINK_BASE             the page that links in mails lead to; default: a page of the local mailbox
  TRANSPORT                  minimal or sdk: what functions call AWS with; default: transport in cdk.json

Exits with 0 when it is stopped, with 1 when it cannot start, and with 2 for wrong arguments or
variables.`,
  options: { inspect: { type: 'string' } },
} as const;

const { values } = readArguments(COMMAND);
const inspectPort = values.inspect === undefined ? undefined : portOf('--inspect', values.inspect);
const port = portOf('PORT', PORT);
if (MAIL_LINK_BASE && !isHttpUrl(MAIL_LINK_BASE))
  rejectArguments(
    `MAIL_LINK_BASE must be a URL that starts with http:// or https://, not ${MAIL_LINK_BASE}.`,
    COMMAND,
  );
await requireFreePort(port).catch((error) => fail(error.message, FAILED));
if (inspectPort !== undefined) openInspector(inspectPort);

const state = await Promise.resolve()
  .then(() => (STATE_DIR === ':memory:' ? openMemoryState() : openState(STATE_DIR || '.local')))
  .catch((error) => fail(error.message, FAILED));
let stopping = false;
let stoppingSince = 0;
let starting: Promise<Cloud> | undefined;
// SIGHUP: the terminal was closed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // npm forwards the signal that the terminal has already sent, so only a later one is a second
    // Ctrl-C.
    if (stopping && Date.now() - stoppingSince > 1000) endNow();
    void stop(signal, 0);
  });
}

/**
 * Ends the process after its exit listeners. Node itself would wait for a function that a debugger
 * has paused, also with `process.kill(process.pid, 'SIGKILL')`.
 */
function endNow(): never {
  process.on('exit', () => spawnSync('kill', ['-KILL', String(process.pid)]));
  process.exit(1);
}

const assembly = openAssembly(state.assemblies, inspectPort !== undefined);
const faults = openFaults();

/**
 * Injects the faults of a file. Called once the stack runs, because rules can name its functions
 * only.
 */
function watchFaults(cloud: Cloud): void {
  if (!state.database) return;
  const file = join(state.database, '../faults.json');
  if (existsSync(file)) loadFaults(file, cloud);
  // The listener is also called once if the file does not exist, with equal times.
  watchFile(file, { interval: 200, persistent: false }, ({ mtimeMs }, before) => {
    if (mtimeMs !== before.mtimeMs) loadFaults(file, cloud);
  });
}

/** A missing file removes all faults; an invalid file changes nothing. */
function loadFaults(file: string, { functions }: Cloud): void {
  const name = relative('.', file);
  try {
    const rules = JSON.parse(readFileSync(file, 'utf8'));
    faults.inject(
      rules,
      functions.map(({ name }) => name),
    );
    print(`Injecting faults from ${name}: ${counted(rules.length, 'rule')}`);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isMissing) faults.inject([]);
    print(
      isMissing
        ? 'Stopped injecting faults'
        : `The faults are unchanged, because ${name} is invalid: ${(error as Error).message}`,
    );
  }
}

const logFile = state.database && join(state.database, '../functions.log');
let mailboxUrl: string | undefined;
print('Synthesizing the stack');
starting = startCloud({
  assembly: assembly.synthesize(),
  state,
  engineUrl: externalEngine(),
  port,
  onLine: openRequestLog(print, logFile),
  onRejection: (rejection) => print(requestLine(rejection)),
  onError: (functionName, error) => print(`\n${functionName} failed: ${readableError(error)}\n`),
  mailLinkBase: (endpoint) => MAIL_LINK_BASE || setPasswordPage(endpoint),
  timeoutMs: inspectPort === undefined ? undefined : PAUSE_MAX_MS,
  intercept: faults.intercept,
  pages: openPages(() => mailboxUrl),
  // More would compete for the processor: on two cores, three have as much throughput as four. Each
  // takes 20 MB.
  maxInstancesPerFunction: 3,
  onEngineExit: (reason) => void stop(`The DynamoDB engine has exited. ${reason}`, 1),
});
reloadOnChange(starting, assembly, print);
await starting.then(run).catch(async (error) => {
  if (stopping) return;
  await close();
  const explanation = state.folder && explainDatabaseError(state.folder, String(error?.message));
  fail(explanation || explainError(error, 'Gatehouse'), FAILED);
});

async function run(cloud: Cloud): Promise<void> {
  if (stopping) return;
  watchFaults(cloud);
  const aboutAccounts = await createFirstAccounts(cloud, state);
  const { url, endpoint, region, tableName } = cloud;
  mailboxUrl = `${endpoint}/mailbox`;
  print(whereDataIs(state.folder, externalEngine()));
  if (logFile) print(`The log of the functions is in ${relative('.', logFile)}`);
  print(`Mail that the service sends is shown at ${mailboxUrl}`);
  print(`Table ${tableName} in ${region}; set AWS_ENDPOINT_URL=${endpoint} to access it`);
  for (const line of [...aboutAccounts, ...howToTry(cloud)]) print(line);
  print(`Gatehouse is ready at ${url}`);
}

/** Also stops a cloud that is still starting. */
async function stop(reason: string, status: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  stoppingSince = Date.now();
  print(`Stopping: ${reason}`);
  await close();
  process.exit(status);
}

async function close(): Promise<void> {
  const cloud = await starting?.catch(() => undefined);
  await (cloud ? cloud.stop() : state.close());
}

function portOf(name: string, value: string): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && number <= 65_535) return number;
  return rejectArguments(`${name} must be a number from 0 to 65535, not ${value}.`, COMMAND);
}

function openInspector(wanted: number): void {
  inspector.open(wanted, '127.0.0.1');
  if (!inspector.url()) fail(`Port ${wanted} is taken. Choose another port for --inspect.`, FAILED);
}

async function requireFreePort(wanted: number): Promise<void> {
  const probe = createServer().listen(wanted, '127.0.0.1');
  await once(probe, 'listening').catch((error) => {
    throw error.code === 'EADDRINUSE'
      ? new Error(
          `Port ${wanted} is taken. Stop the process that uses it, or choose another port: ` +
            `PORT=${wanted + 1} npm start`,
        )
      : error;
  });
  await new Promise((resolve) => probe.close(resolve));
}
