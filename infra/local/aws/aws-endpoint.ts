import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { AwsCall, AwsResponse, Interceptor } from '../calls/aws-call.ts';
import type { Authorization } from '../iam/authorization.ts';
import type { Identity } from '../lambda/functions.ts';
import { type CapacityOptions, type Meter, meterCapacity } from './capacity.ts';
import { transactionsInFlight } from './in-flight.ts';
import type { localMailbox } from './mailbox.ts';

export interface AwsEndpointOptions {
  readonly engineUrl: string;
  readonly kms: (operation: string, input: Record<string, unknown>) => AwsResponse;
  readonly identify: (accessKey: string) => Identity | undefined;
  /** Ends the instance that holds this access key. */
  readonly kill: (accessKey: string) => void;
  readonly mailbox: ReturnType<typeof localMailbox>;
  /** Says what a function lacks that makes a call; undefined when it may. */
  readonly refuses: Authorization['refuses'];
  /** The tags of the table: the engine keeps none. */
  readonly tableTags: () => { Key: string; Value: string }[];
  /** Stands around every call: may hold it up, count it, or answer in its place. */
  readonly intercept?: Interceptor | undefined;
  /** A function has called after it had answered: Lambda would have frozen it. */
  readonly onLateCall: (name: string, operation: string) => void;
  /** A function has tried what its policies do not allow. */
  readonly onRefusal: (sentence: string) => void;
  /** For how long every transaction is under way at least; milliseconds. */
  readonly holdTransactions?: number | undefined;
  /** What the table serves; without it, as much as the engine can. */
  readonly capacity?: CapacityOptions | undefined;
}

const SERVICES: Record<string, AwsCall['service']> = { DynamoDB_20120810: 'DynamoDB', TrentService: 'KMS', SES: 'SES' };
const SEND_MAIL = '/v2/email/outbound-emails';

/** AWS on loopback: one address for DynamoDB, KMS and SES, told apart as the SDK tells them apart, and the mail that was sent. */
export async function startAwsEndpoint(options: AwsEndpointOptions) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const pass = transactionsInFlight(options.holdTransactions);
  const meter: Meter = options.capacity ? meterCapacity(options.capacity) : ({ input }, make) => make(input);

  async function answer(req: IncomingMessage): Promise<AwsResponse> {
    const target = req.url === SEND_MAIL ? 'SES.SendEmail' : String(req.headers['x-amz-target'] ?? '');
    const [prefix = '', operation = ''] = target.split('.');
    const service = SERVICES[prefix];
    const text = await textOf(req);
    if (!service) return unknown(`The local cloud does not know ${prefix || 'a request without x-amz-target'}`);

    const [, accessKey = ''] = /Credential=([^/]+)\//.exec(req.headers.authorization ?? '') ?? [];
    const identity = options.identify(accessKey);
    if (identity?.state === 'ended') return { ...unknown(`${identity.name} was killed`), cut: 'before' };
    if (identity?.state === 'idle') {
      // On a busy machine a call that the function has given up in time may be seen only now.
      await wait(5);
      if (req.socket.destroyed || req.socket.readableEnded) return unknown('Nobody waits for it');
      options.onLateCall(identity.name, operation);
      return unknown(`${identity.name} has already answered`);
    }
    const input = JSON.parse(text);
    const refusal = identity && options.refuses(identity.name, { service, operation, input });
    if (refusal) {
      options.onRefusal(refusal);
      return { status: service === 'SES' ? 403 : 400, body: { __type: 'AccessDeniedException', message: refusal } };
    }
    const make = async (): Promise<AwsResponse> => {
      if (service === 'KMS') return options.kms(operation, input);
      if (service === 'SES') return options.mailbox.send(input);
      if (operation === 'ListTagsOfResource') return { status: 200, body: { Tags: options.tableTags() } };
      const engine = (name: string, body: string) => forward(options.engineUrl, agent, req.headers, name, body);
      // A throttled transaction is not under way: it holds no items.
      return meter(
        { operation, input },
        (made) => pass(operation, made, () => engine(operation, made === input ? text : JSON.stringify(made))),
        (keys) => engine('BatchGetItem', JSON.stringify(keys)),
      );
    };
    const kill = () => options.kill(accessKey);
    return options.intercept
      ? options.intercept({ service, operation, input, by: identity?.name, kill }, make)
      : make();
  }

  const server = createServer(async (req, res) => {
    try {
      if (req.method === 'GET') return show(req, res, options.mailbox);
      send(res, await answer(req));
    } catch (error) {
      send(res, { status: 500, body: { __type: 'InternalServerError', message: String(error) } });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };

  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

const unknown = (message: string): AwsResponse => ({
  status: 400,
  body: { __type: 'UnknownOperationException', message },
});

function send(res: ServerResponse, { status, body, cut }: AwsResponse): void {
  if (cut === 'before') return void res.destroy();
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  res.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', 'Content-Length': bytes.length });
  if (cut === 'middle') res.write(bytes.subarray(0, bytes.length / 2), () => res.destroy());
  else res.end(bytes);
}

function show(req: IncomingMessage, res: ServerResponse, mailbox: AwsEndpointOptions['mailbox']): void {
  if (req.url === '/mailbox.json') {
    res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(mailbox.mails));
  } else if (req.url === '/mailbox') {
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(mailbox.page());
  } else {
    res.writeHead(404).end();
  }
}

async function textOf(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function forward(
  engineUrl: string,
  agent: Agent,
  { authorization, 'x-amz-date': date }: IncomingHttpHeaders,
  operation: string,
  body: string,
): Promise<AwsResponse> {
  return new Promise((resolve, reject) => {
    const headers = {
      'Content-Type': 'application/x-amz-json-1.0',
      'Content-Length': Buffer.byteLength(body),
      'X-Amz-Target': `DynamoDB_20120810.${operation}`,
      Authorization: authorization,
      'X-Amz-Date': date,
    };
    const call = request(engineUrl, { agent, method: 'POST', headers }, async (res) => {
      resolve({ status: res.statusCode ?? 500, body: await textOf(res) });
    });
    call.on('error', reject);
    call.end(body);
  });
}
