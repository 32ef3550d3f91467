import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nextMessage } from './children.ts';
import type { Setup } from './replay.ts';
import type { Replayed } from './replies.ts';
import { selfSigned } from './self-signed.ts';

/**
 * A server with recorded responses, in a process of its own so that children do not share their CPU
 * time with it.
 */
interface ReplayServer {
  /** The variables that let a function replay the recording with this number from its start. */
  environmentOf(recording: number): Record<string, string>;
  stop(): void;
}

export async function startReplay(recordings: readonly Replayed[]): Promise<ReplayServer> {
  const server = fork(join(import.meta.dirname, 'replay.ts'));
  const { key, cert } = selfSigned();
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const certificate = join(folder, 'certificate.pem');
  writeFileSync(certificate, cert);
  server.send({ recordings, key, cert } satisfies Setup);
  const port = await nextMessage(server);
  let sessions = 0;
  return {
    environmentOf: (recording) => ({
      NODE_EXTRA_CA_CERTS: certificate,
      AWS_ENDPOINT_URL: `https://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: `R${recording}S${sessions++}`,
    }),
    stop: () => server.disconnect(),
  };
}
