import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { urlToHttpOptions } from 'node:url';
import type { AwsCall, AwsResponse, Interceptor } from '../calls/aws-call.ts';
import { foreignHost } from '../calls/loopback-host.ts';
import { readText } from '../calls/read-body.ts';
import type { Authorization } from '../iam/authorization.ts';
import type { Identity } from '../lambda/functions.ts';
import { type CapacityOptions, type Meter, meterCapacity } from './capacity.ts';
import { engineHeaders } from './engine.ts';
import type { localMailbox } from './mailbox.ts';
import { serveMailbox } from './mailbox-pages.ts';
import { tableSettings } from './table-settings.ts';
import { detectConflicts } from './transaction-conflicts.ts';

interface AwsEndpointOptions {
  readonly engineUrl: string;
  /** The port to listen on if it is free; 0 selects any. */
  readonly port: number;
  /** The URL of the HTTP API, which starts later. */
  readonly apiUrl: () => string;
  readonly kms: (operation: string, input: Record<string, unknown>) => AwsResponse;
  readonly identify: (accessKey: string) => Identity | undefined;
  /** Terminates the instance with this access key. */
  readonly kill: (accessKey: string) => void;
  readonly mailbox: ReturnType<typeof localMailbox>;
  readonly denialReason: Authorization['denialReason'];
  /** The table of the stack, for its tags. */
  readonly stackTable: Parameters<typeof tableSettings>[0];
  /** Receives each write that the engine has accepted. */
  readonly onCommitted: (call: Pick<AwsCall, 'operation' | 'input'>) => void;
  readonly intercept?: Interceptor | undefined;
  /**
   * Called when a function makes a call after its response; Lambda would have frozen the instance
   * by then.
   */
  readonly onLateCall: (name: string, operation: string) => void;
  /** Called with the reason when the policies of a function do not allow its call. */
  readonly onDenied: (reason: string) => void;
  /** The minimum duration of each transaction, in milliseconds. */
  readonly holdTransactions?: number | undefined;
  /** The capacity limits of the table; if undefined, calls are not throttled. */
  readonly capacity?: CapacityOptions | undefined;
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
  const engine = { ...urlToHttpOptions(new URL(options.engineUrl)), agent };
  const respondAboutSettings = tableSettings(options.stackTable);
  const forwardUnlessConflicting = detectConflicts(options.holdTransactions);
  const meter: Meter = options.capacity
    ? meterCapacity(options.capacity)
    : ({ input }, forward) => forward(input);

  async function handle(req: IncomingMessage): Promise<AwsResponse> {
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

    const identity = options.identify(accessKey);
    if (identity?.state === 'ended')
      return { ...unknownOperation(`${identity.name} was killed`), cut: 'before' };
    if (identity?.state === 'idle') {
      // On a busy machine, a call that the function aborted before it responded may arrive only
      // now.
      await wait(5);
      if (req.socket.destroyed || req.socket.readableEnded)
        return unknownOperation('The caller has closed the connection');
      options.onLateCall(identity.name, operation);
      return unknownOperation(`${identity.name} has already responded`);
    }
    const input = JSON.parse(text);
    const denial = identity && options.denialReason(identity.name, { service, operation, input });
    if (denial) {
      options.onDenied(denial);
      return {
        status: service === 'SES' ? 403 : 400,
        body: { __type: 'AccessDeniedException', message: denial },
      };
    }
    const forward = async (): Promise<AwsResponse> => {
      if (service === 'KMS') return options.kms(operation, input);
      if (service === 'SES') return options.mailbox.send(input);
      const callEngine = (name: string, body: string) => sendToEngine(engine, name, body);
      const aboutSettings = await respondAboutSettings(operation, input, callEngine);
      if (aboutSettings) return aboutSettings;
      // Metering comes first: a throttled transaction must not conflict with others.
      const response = await meter(
        { operation, input },
        (metered) =>
          forwardUnlessConflicting(operation, metered, () =>
            callEngine(operation, metered === input ? text : JSON.stringify(metered)),
          ),
        (keys) => callEngine('BatchGetItem', JSON.stringify(keys)),
      );
      if (response.status === 200) options.onCommitted({ operation, input });
      return response;
    };
    const kill = () => options.kill(accessKey);
    return options.intercept
      ? options.intercept(
          { service, operation, input, functionName: identity?.name, kill },
          forward,
        )
      : forward();
  }

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

/** Listens on a free port if the wanted one is taken. Returns the port. */
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

function sendToEngine(
  engine: RequestOptions,
  operation: string,
  body: string,
): Promise<AwsResponse> {
  return new Promise((resolve, reject) => {
    const headers = { ...engineHeaders(operation), 'Content-Length': Buffer.byteLength(body) };
    const call = request({ ...engine, method: 'POST', headers }, (res) => {
      readText(res).then((text) => resolve({ status: res.statusCode ?? 500, body: text }), reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}
