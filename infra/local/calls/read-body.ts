import type { IncomingMessage } from 'node:http';

/**
 * Reads a body to its end; undefined if it exceeds `maxBytes`. Rejects if the connection breaks. Listens to events:
 * `for await` took 7 % of the CPU time of a local request.
 */
export function readBody(message: IncomingMessage, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    message.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
    });
    message.on('end', () => resolve(size > maxBytes ? undefined : Buffer.concat(chunks)));
    message.on('error', reject);
  });
}

/** Reads a body in UTF-8. Rejects if the connection breaks. */
export async function readText(message: IncomingMessage): Promise<string> {
  return String(await readBody(message));
}
