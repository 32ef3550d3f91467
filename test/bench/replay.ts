import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { openReplies, type Replayed } from './replies.ts';

/*
 * A process that responds to AWS calls with recorded responses, over TLS as AWS does. Receives the
 * recordings, its key and its certificate from its parent, and sends back its port. The access key
 * of a caller, `R<recording>S<session>`, tells which recording it replays; each session starts at
 * the first call.
 */

process.once('disconnect', () => process.exit());
/** What the parent sends. */
export interface Setup {
  readonly recordings: readonly Replayed[];
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}
const setup = new Promise<Setup>((resolve) =>
  process.once('message', (message) => resolve(message as Setup)),
);
const sessions = new Map<string, ReturnType<typeof openReplies>>();

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, body: string) =>
    response
      .writeHead(status, {
        'Content-Type': 'application/x-amz-json-1.0',
        'Content-Length': Buffer.byteLength(body),
      })
      .end(body);
  // A function opens its connections with HEAD before its first call.
  if (request.method === 'HEAD') return void send(200, '');
  const [, session = '', recording] =
    /Credential=(R(\d+)S\d+)\//.exec(request.headers.authorization ?? '') ?? [];
  const replyTo =
    sessions.get(session) ?? openReplies((await setup).recordings[Number(recording)] as Replayed);
  sessions.set(session, replyTo);
  const operation = String(request.headers['x-amz-target'] ?? '.SendEmail').split('.')[1] as string;
  const reply = replyTo(operation, await text(request));
  if (reply) send(reply.status, reply.body);
  else
    send(
      400,
      JSON.stringify({
        __type: 'UnknownOperationException',
        message: `No call of ${operation} was recorded`,
      }),
    );
}

const { key, cert } = await setup;
const server = createServer({ cert, key, keepAliveTimeout: 60_000 }, (request, response) => {
  respond(request, response).catch((error) => response.writeHead(500).end(String(error)));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.((server.address() as { port: number }).port);
