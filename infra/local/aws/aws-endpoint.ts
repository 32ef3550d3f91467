import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type AwsCall,
  type AwsResponse,
  errorResponse,
  type Interceptor,
} from '../calls/aws-call.ts';
import { foreignHost, readBody } from '../calls/incoming.ts';
import type { openAuthorization } from '../iam/authorization.ts';
import type { Functions, Identity } from '../lambda/functions.ts';
import { type DynamoDbOptions, openDynamoDb } from './dynamodb.ts';
import type { localKms } from './kms.ts';
import type { localMailbox } from './mailbox.ts';
import { serveMailbox } from './mailbox-pages.ts';
import type { TableProperties } from './stack-table.ts';

/** The parts of the local cloud, of which some start later, and some are replaced. */
interface Parts {
  readonly apiUrl: string;
  readonly functions: Functions | undefined;
  readonly deployed: {
    readonly kms: ReturnType<typeof localKms>;
    readonly authorization: ReturnType<typeof openAuthorization>;
    readonly table: TableProperties;
  };
  readonly mailbox: ReturnType<typeof localMailbox>;
  readonly lateCalls: string[];
  readonly deniedCalls: string[];
}

interface AwsEndpointOptions extends DynamoDbOptions {
  /** The port to listen on if it is free; 0 selects any. */
  readonly port: number;
  readonly intercept?: Interceptor | undefined;
  readonly onLine: (line: string) => void;
}

const SERVICES: Record<string, AwsCall['service']> = {
  DynamoDB_20120810: 'DynamoDB',
  TrentService: 'KMS',
  SES: 'SES',
};
const SEND_MAIL = '/v2/email/outbound-emails';

/** Starts a loopback endpoint for DynamoDB, KMS, SES and the mailbox. */
export async function startAwsEndpoint(parts: Parts, options: AwsEndpointOptions) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const handle = openHandler(parts, options, agent);
  const server = createServer(async (req, res) => {
    try {
      const rejection = foreignHost(req);
      if (rejection) return send(res, errorResponse('AccessDeniedException', rejection, 403));
      if (req.method === 'GET' || req.url?.startsWith('/mailbox'))
        return await serveMailbox(req, res, parts.mailbox.mails, parts.apiUrl);
      send(res, await handle(req));
    } catch (error) {
      send(res, errorResponse('InternalServerError', String(error), 500));
    }
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening').catch((error) => {
    if (options.port === 0 || error.code !== 'EADDRINUSE') throw error;
    return once(server.listen(0, '127.0.0.1'), 'listening');
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    stop() {
      agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

function openHandler(parts: Parts, options: AwsEndpointOptions, agent: Agent) {
  const dynamoDb = openDynamoDb(options, () => parts.deployed.table, agent);

  return async function handle(req: IncomingMessage): Promise<AwsResponse> {
    const target =
      req.url === SEND_MAIL ? 'SES.SendEmail' : String(req.headers['x-amz-target'] ?? '');
    const [prefix = '', operation = ''] = target.split('.');
    const service = SERVICES[prefix];
    const text = String(await readBody(req));
    const [, accessKey] = /Credential=([^/]+)\//.exec(req.headers.authorization ?? '') ?? [];
    // A web page cannot send this header without the permission that a preflight asks for.
    if (accessKey === undefined)
      return errorResponse('MissingAuthenticationTokenException', 'The request is not signed', 403);
    if (!service)
      return unknownOperation(
        `The local cloud does not support ${prefix || 'a request without x-amz-target'}`,
      );

    const onLateCall = (name: string) => {
      parts.lateCalls.push(`${name} ${operation}`);
      options.onLine(
        `${name} called ${operation} after it had responded: ` +
          'Lambda would have frozen the instance',
      );
    };
    const { kms, authorization } = parts.deployed;
    const identity = parts.functions?.identify(accessKey);
    const rejection = identity && (await rejectUnlessBusy(identity, req, onLateCall));
    if (rejection) return rejection;
    const call = { service, operation, input: JSON.parse(text) };
    const denial = identity && authorization.denialReason(identity.name, call);
    if (denial) {
      parts.deniedCalls.push(denial);
      options.onLine(denial);
      return errorResponse('AccessDeniedException', denial, service === 'SES' ? 403 : 400);
    }
    const forward = async (): Promise<AwsResponse> => {
      if (service === 'KMS') return kms(operation, call.input);
      return service === 'SES' ? parts.mailbox.send(call.input) : dynamoDb(call, text);
    };
    const kill = () => parts.functions?.kill(accessKey);
    const { intercept = (_, forward) => forward() } = options;
    return intercept({ ...call, functionName: identity?.name, kill }, forward);
  };
}

async function rejectUnlessBusy(
  { name, state }: Identity,
  req: IncomingMessage,
  onLateCall: (name: string) => void,
): Promise<AwsResponse | undefined> {
  if (state === 'ended') return { ...unknownOperation(`${name} was killed`), cut: 'before' };
  if (state !== 'idle') return undefined;
  // On a busy machine, a call that the function aborted before it responded may arrive only now.
  await wait(5);
  if (req.socket.destroyed || req.socket.readableEnded)
    return unknownOperation('The caller has closed the connection');
  onLateCall(name);
  return unknownOperation(`${name} has already responded`);
}

const unknownOperation = (message: string) => errorResponse('UnknownOperationException', message);

function send(res: ServerResponse, { status, body, cut }: AwsResponse): void {
  if (cut === 'before') return void res.destroy();
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = Buffer.byteLength(text);
  res.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', 'Content-Length': bytes });
  if (cut === 'middle') res.write(Buffer.from(text).subarray(0, bytes / 2), () => res.destroy());
  // As text, it is written together with the headers.
  else res.end(text);
}
