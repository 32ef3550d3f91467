import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { RecordedCall } from './rounds.ts';

/*
 * A process that responds to AWS calls with recorded responses, over TLS as AWS does. Receives the recordings from its
 * parent and sends back its port. The access key of a caller, `R<recording>S<session>`, tells which recording it
 * replays; each session starts at the first call.
 */

/** The calls of the first and of the second invocation of a function. */
export type Replayed = readonly [first: readonly RecordedCall[], second: readonly RecordedCall[]];

/** A call to replay: the first of several that match responds, until all of them have. */
interface Reply {
  readonly operation: string;
  readonly input: string;
  readonly isRepeated: boolean;
  readonly status: number;
  readonly body: string;
  used: boolean;
}

/** JSON in which the order of fields does not matter. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

function repliesOf([first, second]: Replayed): Reply[] {
  const replies = (calls: readonly RecordedCall[], isRepeated: boolean) =>
    calls.map(({ operation, input, response: { status, body } }) => ({
      ...{ operation, input: canonical(input), isRepeated, status, used: false },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }));
  return [...replies(first, false), ...replies(second, true)];
}

/**
 * The response to a call: of an equal one, otherwise of the next one with the same operation, because times, random
 * values and signatures differ. A function that is called more often repeats its second invocation.
 */
function replyTo(replies: readonly Reply[], operation: string, input: string): Reply | undefined {
  const same = replies.filter((reply) => reply.operation === operation);
  const equal = same.filter((reply) => reply.input === input);
  const unused = (some: readonly Reply[]) => some.find(({ used }) => !used);
  if (equal.length === 0 && !unused(same)) for (const reply of same) reply.used = !reply.isRepeated;
  const reply = unused(equal) ?? equal.at(-1) ?? unused(same) ?? same.at(-1);
  if (reply) reply.used = true;
  return reply;
}

process.once('disconnect', () => process.exit());
const recordings = new Promise<readonly Replayed[]>((resolve) => process.once('message', resolve));
const sessions = new Map<string, Reply[]>();

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, body: string) =>
    response
      .writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', 'Content-Length': Buffer.byteLength(body) })
      .end(body);
  // A function opens its connections with HEAD before its first call.
  if (request.method === 'HEAD') return void send(200, '');
  const [, session = '', recording] = /Credential=(R(\d+)S\d+)\//.exec(request.headers.authorization ?? '') ?? [];
  const replies = sessions.get(session) ?? repliesOf((await recordings)[Number(recording)] as Replayed);
  sessions.set(session, replies);
  const operation = String(request.headers['x-amz-target'] ?? '.SendEmail').split('.')[1] as string;
  const reply = replyTo(replies, operation, canonical(JSON.parse(await text(request))));
  if (reply) send(reply.status, reply.body);
  else
    send(400, JSON.stringify({ __type: 'UnknownOperationException', message: `No call of ${operation} was recorded` }));
}

const pem = (name: string) => readFileSync(join(import.meta.dirname, `loopback-${name}.pem`));
const server = createServer(
  { cert: pem('certificate'), key: pem('key'), keepAliveTimeout: 60_000 },
  (request, response) => {
    respond(request, response).catch((error) => response.writeHead(500).end(String(error)));
  },
).listen(0, '127.0.0.1');
await once(server, 'listening');
await recordings;
process.send?.((server.address() as { port: number }).port);
