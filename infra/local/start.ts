import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, watch, watchFile } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join, relative } from 'node:path';
import { bundle, localTransport } from '../bundle.ts';
import { openPages } from './api-page/pages.ts';
import { openFaults } from './aws/faults.ts';
import { type Cloud, startCloud } from './cloud.ts';
import { createFirstAccounts } from './first-accounts.ts';
import { synthesize } from './stack/synthesize.ts';
import { openMemoryState, openState } from './state/state.ts';

/* `npm start`: synthesizes the stack, runs it, and reloads it when its source changes. */

const ROOT = join(import.meta.dirname, '../..');
const { STATE_DIR = '.local', PORT = '3000' } = process.env;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const port = Number(PORT);
if (!/^\d+$/.test(PORT) || port > 65_535) fail(`PORT must be a number from 0 to 65535, not ${PORT}.`);
await requireFreePort(port).catch((error) => fail(error.message));

const state = await Promise.resolve(STATE_DIR === ':memory:' ? openMemoryState() : openState(STATE_DIR)).catch(
  (error) => fail(error.message),
);
let stopping = false;
let stoppingSince = 0;
let starting: Promise<Cloud> | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // npm forwards the signal that the terminal has already sent, so only a later one is a second Ctrl-C.
    if (stopping && Date.now() - stoppingSince > 1000) process.exit(1);
    void stop(signal, 0);
  });
}

let syntheses = 0;
/** Each synthesis has its own folder, so the running stack keeps its files if the next synthesis fails. */
async function synthesizeNext(): Promise<string> {
  if (syntheses === 0) rmSync(state.assemblies, { recursive: true, force: true });
  const assembly = join(state.assemblies, String(++syntheses));
  await synthesize(assembly);
  return assembly;
}

const faults = openFaults();
if (state.database) {
  const file = join(state.database, '../faults.json');
  if (existsSync(file)) loadFaults(file);
  // The listener is also called once if the file does not exist, with equal times.
  watchFile(file, { interval: 200, persistent: false }, ({ mtimeMs }, before) => {
    if (mtimeMs !== before.mtimeMs) loadFaults(file);
  });
}

/** A missing file removes all faults; an invalid file changes nothing. */
function loadFaults(file: string): void {
  const name = relative('.', file);
  try {
    const rules = JSON.parse(readFileSync(file, 'utf8'));
    faults.inject(rules);
    print(`Injecting faults from ${name}: ${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}`);
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

print('Synthesizing the stack');
let assembly = await synthesizeNext().catch((error) => {
  state.close();
  return fail(error.message);
});
starting = startCloud({
  assembly,
  state,
  port,
  onLine: print,
  intercept: faults.intercept,
  pages: openPages(),
  meterCapacity: true,
  // More would compete for the processor: on two cores, four had the highest throughput. Each takes 20 MB.
  maxInstancesPerFunction: 4,
  onEngineExit: (reason) => void stop(`The DynamoDB engine has exited. ${reason}`, 1),
});
await starting.then(run).catch((error) => {
  if (!stopping) fail(error instanceof Error ? error.message : String(error));
});

async function run(cloud: Cloud): Promise<void> {
  if (stopping) return;
  const isFirstStart = await createFirstAccounts(cloud, state);
  const { url, endpoint, region, tableName } = cloud;
  print(
    state.database
      ? `All data is in ${relative('.', join(state.database, '..')) || '.'}/`
      : 'All data is in memory and will be lost when the service stops',
  );
  print(`Mail that the service sends is shown at ${endpoint}/mailbox`);
  print(`Table ${tableName} in ${region}; set AWS_ENDPOINT_URL=${endpoint} to access it`);
  if (isFirstStart) {
    print('First start: created the accounts admin (password admin; ROLE_ADMIN and ROLE_USER)');
    print('             and user (password user; ROLE_USER)');
  }
  print(`The API reference, to read and to try: ${url}/docs`);
  print('Try it:');
  print(`  TOKEN=$(curl -s ${url}/api/authenticate -H 'Content-Type: application/json' \\`);
  print(`    -d '{"username":"admin","password":"admin"}' | sed 's/.*:"\\(.*\\)".*/\\1/')`);
  print(`  curl -s ${url}/api/account -H "Authorization: Bearer $TOKEN"`);
  watchSource(cloud);
  print(`Gatehouse is ready at ${url}`);
}

/**
 * A change in functions/ or lib/ rebuilds the bundles only; a change in routes.ts, cdk.json or the stack synthesizes
 * the stack again.
 */
function watchSource(running: Cloud): void {
  let changed = new Set<string>();
  let pendingWork = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const schedule = (path: string) => {
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const paths = [...changed];
      changed = new Set();
      pendingWork = pendingWork
        .then(() => apply(running, paths))
        .catch((error) => {
          // The next change may fix the error, and must then be applied together with these.
          for (const path of paths) changed.add(path);
          print(`Still running the previous version: ${error.message}`);
        });
    }, 100);
  };
  for (const folder of ['functions', 'lib', 'infra']) {
    watch(join(ROOT, folder), { recursive: true }, (_, file) => {
      if (file && /\.m?ts$/.test(file)) schedule(`${folder}/${file}`);
    }).unref();
  }
  watch(ROOT, (_, file) => {
    if (file === 'routes.ts' || file === 'cdk.json') schedule(file);
  }).unref();
}

async function apply(running: Cloud, paths: readonly string[]): Promise<void> {
  const names = paths.join(', ');
  if (paths.some((path) => path.startsWith('infra/local/'))) print(`Changed ${names}: restart to apply the change`);
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
    // A handler file is part of its own bundle only; it may also have been deleted.
    const files = paths.filter((path) => path.startsWith('functions/') && existsSync(join(ROOT, path)));
    const all = paths.some((path) => path.startsWith('lib/'));
    await bundle(join(assembly, 'bundles'), {
      transport: localTransport(),
      ...(!all && { files: files.map((path) => basename(path, '.ts')) }),
    });
    running.recycle();
  }
  print(`Changed ${names}: reloaded in ${Date.now() - started} ms`);
}

/** Also stops a cloud that is still starting. */
async function stop(reason: string, status: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  stoppingSince = Date.now();
  print(`Stopping: ${reason}`);
  const cloud = await starting?.catch(() => undefined);
  await (cloud ? cloud.stop() : state.close());
  process.exit(status);
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
