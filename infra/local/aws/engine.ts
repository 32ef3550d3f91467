import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

interface Engine {
  readonly url: string;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 10_000;

/**
 * Starts the embedded engine on a file or in memory, unless `AWS_ENDPOINT_URL_DYNAMODB` names another engine.
 * `onStart` receives the pid as soon as the process exists; `onEngineExit` is called if it exits unexpectedly.
 */
export async function startEngine(
  file: string | undefined,
  onStart: (pid: number | undefined) => void,
  onEngineExit: (reason: string) => void,
): Promise<Engine> {
  const externalUrl = process.env.AWS_ENDPOINT_URL_DYNAMODB;
  if (externalUrl) return { url: externalUrl, stop: async () => undefined };

  const binary = embeddedBinary();
  // Another process may take the free port first; the engine then exits with 1, and the loop tries another.
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    const child = spawn(binary, ['--host', '127.0.0.1', '--port', String(port), ...(file ? ['--db-path', file] : [])], {
      stdio: ['ignore', 'ignore', 'pipe'],
      // A separate process group: Ctrl-C must not stop the engine before the service has finished its requests.
      detached: true,
    });
    onStart(child.pid);
    let errors = '';
    child.stderr.on('data', (text) => (errors = (errors + text).slice(-2000)));
    const url = `http://127.0.0.1:${port}`;
    if (await isReady(url, child)) return running(url, child, () => onEngineExit(errors));
    if (tries === 3) throw new Error(`The DynamoDB engine did not start. ${errors}`);
  }
}

function running(url: string, child: ChildProcess, onEngineExit: () => void): Engine {
  let stopping = false;
  child.on('exit', () => stopping || onEngineExit());
  // Stops the engine on every exit of this process except SIGKILL.
  const killEngine = () => child.kill('SIGKILL');
  process.on('exit', killEngine);
  return {
    url,
    async stop() {
      stopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
      process.off('exit', killEngine);
    },
  };
}

function embeddedBinary(): string {
  try {
    const manifest = createRequire(import.meta.url).resolve('@dynoxide/linux-x64/package.json');
    return join(manifest, '../dynoxide');
  } catch {
    throw new Error(
      `There is no embedded DynamoDB engine for ${process.platform} ${process.arch}. Start another one, for example ` +
        'DynamoDB Local, and set its address: AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 npm start',
    );
  }
}

/** Also checks that the process is alive: the response could come from another server that has taken the port. */
async function isReady(url: string, child: ChildProcess): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && Date.now() < deadline) {
    await wait(10);
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-amz-json-1.0',
        'X-Amz-Target': 'DynamoDB_20120810.ListTables',
        Authorization:
          'AWS4-HMAC-SHA256 Credential=local/20200101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
        'X-Amz-Date': '20200101T000000Z',
      },
      body: '{}',
    }).catch(() => undefined);
    if (response?.ok) return child.exitCode === null;
  }
  child.kill('SIGKILL');
  return false;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
