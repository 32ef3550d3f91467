import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { shownPath, startOver } from '../state/files.ts';
import { OPERATOR } from '../state/operator.ts';

/** The first call to a new DynamoDB Local takes several seconds. */
const START_TIMEOUT_MS = 10_000;

export const ENGINE_REGION = 'us-east-1';

/** The URL of the engine that `npm start` and the commands use instead of the embedded one. */
export const externalEngine = (): string | undefined =>
  process.env.AWS_ENDPOINT_URL_DYNAMODB || undefined;

/**
 * Engines do not verify signatures, but without `-sharedDb` DynamoDB Local keeps separate tables
 * for each access key and region, so all callers must use the same.
 */
const engineHeaders = (operation: string) => ({
  'Content-Type': 'application/x-amz-json-1.0',
  'X-Amz-Target': `DynamoDB_20120810.${operation}`,
  'X-Amz-Date': '20200101T000000Z',
  Authorization:
    'AWS4-HMAC-SHA256 ' +
    `Credential=${OPERATOR.accessKeyId}/20200101/${ENGINE_REGION}/dynamodb/aws4_request, ` +
    'SignedHeaders=host, Signature=0',
});

export async function callEngine(
  url: string,
  operation: string,
  body: string,
  signal?: AbortSignal,
) {
  const headers = engineHeaders(operation);
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  return { status: response.status, body: await response.text() };
}

/**
 * Starts the embedded engine, or connects to `externalUrl`. `onStart` receives the pid as soon as
 * it exists.
 */
export async function startEngine(
  { file, externalUrl }: { file?: string | undefined; externalUrl?: string | undefined },
  onStart: (pid: number | undefined) => void,
  onEngineExit: (reason: string) => void,
) {
  if (externalUrl) return connect(externalUrl);

  // The engine lets every web page read it (CORS), so it listens where no page would find it. On
  // Linux, for which it exists, all of 127.0.0.0/8 is the loopback network. `fetch` rejects some
  // lower ports; outgoing connections have higher ones.
  const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  const port = String(randomInt(20_000, 32_768));
  const child = spawn(
    embeddedBinary(),
    ['--host', host, '--port', port, ...(file ? ['--db-path', file] : [])],
    // Detached: Ctrl-C must not stop it before the service has finished its requests.
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  );
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  onStart(child.pid);
  let errors = '';
  child.stderr.on('data', (text) => (errors = (errors + text).slice(-2000)));
  const url = `http://${host}:${port}`;
  const isStarted = await isReady(url, child);
  // The message of the engine suggests decrypting the file.
  if (file && /malformed|not a valid SQLite/.test(errors)) throw notDatabase(file);
  if (!isStarted)
    throw new Error(`The DynamoDB engine did not start on ${file ?? 'memory'}. ${errors}`);
  const reportExit = () => onEngineExit(errors);
  child.on('exit', reportExit);
  return { url, stop: () => stopChild(child.off('exit', reportExit)) };
}

const notDatabase = (file: string) =>
  new Error(`${shownPath(file)} is not a database: ${startOver(dirname(file))}.`);

async function connect(url: string) {
  if ((await firstResponse(url))?.status === 200) return { url, stop: async () => undefined };
  throw new Error(
    `No DynamoDB engine responds at ${url}, which AWS_ENDPOINT_URL_DYNAMODB names. Start it, set ` +
      'a URL such as http://127.0.0.1:8000, or unset the variable.',
  );
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function embeddedBinary(): string {
  try {
    const manifest = createRequire(import.meta.url).resolve('@dynoxide/linux-x64/package.json');
    return join(manifest, '../dynoxide');
  } catch {
    throw new Error(
      `There is no embedded DynamoDB engine for ${process.platform} ${process.arch}. Start ` +
        'DynamoDB Local, for example ' +
        'with `docker run -p 8000:8000 amazon/dynamodb-local`, and set its URL: ' +
        'AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 npm start',
    );
  }
}

/** Waits for any response, since an engine with a damaged database fails every call. */
async function isReady(url: string, child: ChildProcess): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && Date.now() < deadline) {
    await wait(10);
    if (await firstResponse(url)) return true;
  }
  child.kill('SIGKILL');
  return false;
}

const firstResponse = (url: string) =>
  callEngine(url, 'ListTables', '{}', AbortSignal.timeout(START_TIMEOUT_MS)).catch(() => undefined);
