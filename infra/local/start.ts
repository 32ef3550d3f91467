import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, watch, watchFile } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join, relative } from 'node:path';
import { bundle } from '../bundle.ts';
import { openFaults } from './aws/faults.ts';
import { type Cloud, startCloud } from './cloud.ts';
import { makeFirstAccounts } from './first-accounts.ts';
import { synthesize } from './stack/synthesize.ts';
import { openMemoryState, openState } from './state/state.ts';

/* `npm start`: synthesizes the stack, runs it, and runs it anew when its source changes. */

const ROOT = join(import.meta.dirname, '../..');
const { STATE_DIR = '.local', PORT = '3000' } = process.env;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const port = Number(PORT);
if (!/^\d+$/.test(PORT) || port > 65_535) fail(`PORT is a number from 0 to 65535, and not ${PORT}.`);
await demandFree(port).catch((error) => fail(error.message));

const state = await Promise.resolve(STATE_DIR === ':memory:' ? openMemoryState() : openState(STATE_DIR)).catch(
  (error) => fail(error.message),
);
let stopping = false;
let stoppingSince = 0;
let starting: Promise<Cloud> | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // npm passes on what the terminal has sent already: only what comes later is a second Ctrl-C.
    if (stopping && Date.now() - stoppingSince > 1000) process.exit(1);
    void stop(signal, 0);
  });
}

let syntheses = 0;
/** A folder for each synthesis: what runs goes on from its own, should the next one fail. */
async function synthesizeNext(): Promise<string> {
  if (syntheses === 0) rmSync(state.assemblies, { recursive: true, force: true });
  const assembly = join(state.assemblies, String(++syntheses));
  await synthesize(assembly);
  return assembly;
}

const faults = openFaults();
if (state.database) {
  const file = join(state.database, '../faults.json');
  if (existsSync(file)) injectFrom(file);
  // It also tells of a file that was never there.
  watchFile(file, { interval: 200, persistent: false }, ({ mtimeMs }, before) => {
    if (mtimeMs !== before.mtimeMs) injectFrom(file);
  });
}

/** What the file says goes wrong from now on; nothing when there is none. */
function injectFrom(file: string): void {
  const name = relative('.', file);
  try {
    const rules = JSON.parse(readFileSync(file, 'utf8'));
    faults.inject(rules);
    say(`Faults are at work, as ${name} says: ${rules.length === 1 ? 'one rule' : `${rules.length} rules`}`);
  } catch (error) {
    const gone = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (gone) faults.inject([]);
    say(gone ? 'No faults any more' : `Faults stay as they were: ${name} is not right. ${(error as Error).message}`);
  }
}

say('Synthesizing the stack');
let assembly = await synthesizeNext().catch((error) => {
  state.close();
  return fail(error.message);
});
starting = startCloud({
  assembly,
  state,
  port,
  onLine: say,
  around: faults.around,
  meterCapacity: true,
  onEnd: (reason) => void stop(`The DynamoDB engine has ended. ${reason}`, 1),
});
await starting.then(run).catch((error) => {
  if (!stopping) fail(error instanceof Error ? error.message : String(error));
});

async function run(cloud: Cloud): Promise<void> {
  if (stopping) return;
  const made = await makeFirstAccounts(cloud, state);
  const { url, endpoint, region, tableName } = cloud;
  say(
    state.database
      ? `All data is in ${relative('.', join(state.database, '..')) || '.'}/`
      : 'All data is in memory, and gone when it stops',
  );
  say(`Mail that it sends is at ${endpoint}/mailbox`);
  say(`Table ${tableName} in ${region}; AWS_ENDPOINT_URL=${endpoint} looks behind the API`);
  if (made) {
    say('First start: made the accounts admin, password admin (ROLE_ADMIN, ROLE_USER),');
    say('             and user, password user (ROLE_USER)');
  }
  say('Try it:');
  say(`  TOKEN=$(curl -s ${url}/api/authenticate -H 'Content-Type: application/json' \\`);
  say(`    -d '{"username":"admin","password":"admin"}' | sed 's/.*:"\\(.*\\)".*/\\1/')`);
  say(`  curl -s ${url}/api/account -H "Authorization: Bearer $TOKEN"`);
  watchSource(cloud);
  say(`Gatehouse is ready at ${url}`);
}

/** A change of the functions bundles them anew, one of the API or the stack synthesizes anew. */
function watchSource(running: Cloud): void {
  let changed = new Set<string>();
  let work = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const note = (path: string) => {
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const paths = [...changed];
      changed = new Set();
      work = work
        .then(() => apply(running, paths))
        .catch((error) => {
          // The next change may mend it, and must not run alone.
          for (const path of paths) changed.add(path);
          say(`Still running what it was before: ${error.message}`);
        });
    }, 100);
  };
  for (const folder of ['functions', 'lib', 'infra']) {
    watch(join(ROOT, folder), { recursive: true }, (_, file) => {
      if (file && /\.m?ts$/.test(file)) note(`${folder}/${file}`);
    }).unref();
  }
  watch(ROOT, (_, file) => {
    if (file === 'routes.ts' || file === 'cdk.json') note(file);
  }).unref();
}

async function apply(running: Cloud, paths: readonly string[]): Promise<void> {
  const names = paths.join(', ');
  if (paths.some((path) => path.startsWith('infra/local/'))) say(`Changed ${names}: restart to run it`);
  const stack = paths.some((path) => !/^(functions|lib|infra\/local)\//.test(path));
  const functions = paths.some((path) => /^(functions|lib)\//.test(path));
  if (!stack && !functions) return;
  const started = Date.now();
  if (stack) {
    const next = await synthesizeNext();
    await running.redeploy(next);
    rmSync(assembly, { recursive: true, force: true });
    assembly = next;
  } else {
    // A function's own file is in its bundle only; it may also be gone.
    const files = paths.filter((path) => path.startsWith('functions/') && existsSync(join(ROOT, path)));
    const all = paths.some((path) => path.startsWith('lib/'));
    await bundle(join(assembly, 'bundles'), [], all ? undefined : files.map((path) => basename(path, '.ts')));
    running.recycle();
  }
  say(`Changed ${names}: running it after ${Date.now() - started} ms`);
}

/** Stops what has started, or what is just starting. */
async function stop(reason: string, status: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  stoppingSince = Date.now();
  say(`Stopping: ${reason}`);
  const cloud = await starting?.catch(() => undefined);
  await (cloud ? cloud.stop() : state.close());
  process.exit(status);
}

async function demandFree(wanted: number): Promise<void> {
  const probe = createServer().listen(wanted, '127.0.0.1');
  await once(probe, 'listening').catch((error) => {
    throw error.code === 'EADDRINUSE'
      ? new Error(`Port ${wanted} is taken. Stop what uses it, or choose another one: PORT=${wanted + 1} npm start`)
      : error;
  });
  await new Promise((resolve) => probe.close(resolve));
}
