import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A running DynamoDB engine. */
export interface Engine {
  readonly url: string;
  stop(): Promise<void>;
}

const START_TIMEOUT = 10_000;

/**
 * Starts the embedded engine on a file, or in memory; `AWS_ENDPOINT_URL_DYNAMODB` names another one instead.
 * `onStart` is told its process at once, and `onEnd` is called when it ends by itself.
 */
export async function startEngine(
  file: string | undefined,
  onStart: (pid: number | undefined) => void,
  onEnd: (reason: string) => void,
): Promise<Engine> {
  const other = process.env.AWS_ENDPOINT_URL_DYNAMODB;
  if (other) return { url: other, stop: async () => undefined };

  const binary = embedded();
  // Another process may take the free port first; then the engine exits with 1, and the next port is tried.
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    const child = spawn(binary, ['--host', '127.0.0.1', '--port', String(port), ...(file ? ['--db-path', file] : [])], {
      stdio: ['ignore', 'ignore', 'pipe'],
      // A group of its own: Ctrl-C in a terminal is for the service, which still needs its engine to answer what it has begun.
      detached: true,
    });
    onStart(child.pid);
    let errors = '';
    child.stderr.on('data', (text) => (errors = (errors + text).slice(-2000)));
    const url = `http://127.0.0.1:${port}`;
    if (await answers(url, child)) return running(url, child, () => onEnd(errors));
    if (tries === 3) throw new Error(`The DynamoDB engine does not start. ${errors}`);
  }
}

function running(url: string, child: ChildProcess, onEnd: () => void): Engine {
  let stopping = false;
  child.on('exit', () => stopping || onEnd());
  // However this process ends, short of SIGKILL, the engine does not stay behind.
  const endWithUs = () => child.kill('SIGKILL');
  process.on('exit', endWithUs);
  return {
    url,
    async stop() {
      stopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
      process.off('exit', endWithUs);
    },
  };
}

function embedded(): string {
  try {
    const manifest = createRequire(import.meta.url).resolve('@dynoxide/linux-x64/package.json');
    return join(manifest, '../dynoxide');
  } catch {
    throw new Error(
      `There is no embedded DynamoDB engine for ${process.platform} ${process.arch}. Start another one, for example ` +
        'DynamoDB Local, and name it: AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 npm start',
    );
  }
}

/** Whether the engine answers; a probe alone could meet the server that has taken the port. */
async function answers(url: string, child: ChildProcess): Promise<boolean> {
  const until = Date.now() + START_TIMEOUT;
  while (child.exitCode === null && Date.now() < until) {
    await wait(10);
    const answer = await fetch(url, {
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
    if (answer?.ok) return child.exitCode === null;
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
