import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { AwsCall, AwsResponse, Interceptor } from '../calls/aws-call.ts';
import { foreignHost } from '../calls/loopback-host.ts';
import { readText } from '../calls/read-body.ts';
import type { Authorization } from '../iam/authorization.ts';
import type { Functions, Identity } from '../lambda/functions.ts';
import { type DynamoDbOptions, openDynamoDb } from './dynamodb.ts';
import type { localKms } from './kms.ts';
import type { localMailbox } from './mailbox.ts';
import { serveMailbox } from './mailbox-pages.ts';
import type { TableProperties } from './stack-table.ts';

interface AwsEndpointOptions extends Omit<DynamoDbOptions, 'stackTable'> {
  /** The port to listen on if it is free; 0 selects any. */
  readonly port: number;
  /** The URL of the HTTP API, which starts later. */
  readonly apiUrl: () => string;
  /** Undefined until functions, which call these APIs, have started. */
  readonly functions: () => Functions | undefined;
  readonly deployed: () => {
    readonly kms: ReturnType<typeof localKms>;
    readonly authorization: Authorization;
    readonly table: TableProperties;
  };
  readonly mailbox: ReturnType<typeof localMailbox>;
  readonly intercept?: Interceptor | undefined;
  /**
   * Called when a function makes a call after its response; Lambda would have frozen the instance
   * by then.
   */
  readonly onLateCall: (name: string, operation: string) => void;
  readonly onDenied: (reason: string) => void;
}

const SERVICES: Record<string, AwsCall['service']> = {
  DynamoDB_20120810: 'DynamoDB',
  TrentService: 'KMS',
  SES: 'SES',
};
const SEND_MAIL = '/v2/email/outbound-emails';

/**
 * Starts a loopback endpoint for DynamoDB, KMS and SES, selected by the headers and path of a
 * request. It also serves the mailbox page.
 */
export async function startAwsEndpoint(options: AwsEndpointOptions) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const handle = openHandler(options, agent);
  const server = createServer(async (req, res) => {
    try {
      const rejection = foreignHost(req);
      if (rejection) return send(res, forbidden('AccessDeniedException', rejection));
      const isPage = req.method === 'GET' || req.url?.startsWith('/mailbox');
      if (isPage)
        return await serveMailbox(req, res, { ...options.mailbox, apiUrl: options.apiUrl });
      send(res, await handle(req));
    } catch (error) {
      send(res, { status: 500, body: { __type: 'InternalServerError', message: String(error) } });
    }
  });
  const port = await listen(server, options.port);

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

function openHandler(options: AwsEndpointOptions, agent: Agent) {
  const stackTable = () => options.deployed().table;
  const dynamoDb = openDynamoDb({ ...options, stackTable }, agent);

  return async function handle(req: IncomingMessage): Promise<AwsResponse> {
    const target =
      req.url === SEND_MAIL ? 'SES.SendEmail' : String(req.headers['x-amz-target'] ?? '');
    const [prefix = '', operation = ''] = target.split('.');
    const service = SERVICES[prefix];
    const text = await readText(req);
    const [, accessKey] = /Credential=([^/]+)\//.exec(req.headers.authorization ?? '') ?? [];
    // A web page cannot send this header without the permission that a preflight asks for.
    if (accessKey === undefined)
      return forbidden('MissingAuthenticationTokenException', 'The request is not signed');
    if (!service)
      return unknownOperation(
        `The local cloud does not support ${prefix || 'a request without x-amz-target'}`,
      );

    const { kms, authorization } = options.deployed();
    const identity = options.functions()?.identify(accessKey);
    const rejection = identity && (await rejectUnlessBusy(identity, req, operation, options));
    if (rejection) return rejection;
    const input = JSON.parse(text);
    const denial =
      identity && authorization.denialReason(identity.name, { service, operation, input });
    if (denial) {
      options.onDenied(denial);
      const body = { __type: 'AccessDeniedException', message: denial };
      return { status: service === 'SES' ? 403 : 400, body };
    }
    const forward = async (): Promise<AwsResponse> => {
      if (service === 'KMS') return kms(operation, input);
      if (service === 'SES') return options.mailbox.send(input);
      return dynamoDb(operation, input, text);
    };
    const kill = () => options.functions()?.kill(accessKey);
    return options.intercept
      ? options.intercept(
          { service, operation, input, functionName: identity?.name, kill },
          forward,
        )
      : forward();
  };
}

async function rejectUnlessBusy(
  { name, state }: Identity,
  req: IncomingMessage,
  operation: string,
  { onLateCall }: AwsEndpointOptions,
): Promise<AwsResponse | undefined> {
  if (state === 'ended') return { ...unknownOperation(`${name} was killed`), cut: 'before' };
  if (state !== 'idle') return undefined;
  // On a busy machine, a call that the function aborted before it responded may arrive only now.
  await wait(5);
  if (req.socket.destroyed || req.socket.readableEnded)
    return unknownOperation('The caller has closed the connection');
  onLateCall(name, operation);
  return unknownOperation(`${name} has already responded`);
}

async function listen(server: Server, wanted: number): Promise<number> {
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (wanted === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return listen(server, 0);
  }
  return (server.address() as AddressInfo).port;
}

const unknownOperation = (message: string): AwsResponse => ({
  status: 400,
  body: { __type: 'UnknownOperationException', message },
});

const forbidden = (__type: string, message: string): AwsResponse => ({
  status: 403,
  body: { __type, message },
});

function send(res: ServerResponse, { status, body, cut }: AwsResponse): void {
  if (cut === 'before') return void res.destroy();
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = Buffer.byteLength(text);
  res.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', 'Content-Length': bytes });
  if (cut === 'middle') res.write(Buffer.from(text).subarray(0, bytes / 2), () => res.destroy());
  // As text, it is written together with the headers.
  else res.end(text);
}
