import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { foreignHost, isAwsCall } from '../calls/aws-call.ts';
import type { Page } from '../pages/pages.ts';
import { ACCOUNT } from '../stack/template.ts';
import type { RequestSummary } from './request-log.ts';

export interface Api {
  readonly routes: ReadonlyMap<string, string>;
  readonly cors: Cors | undefined;
}

/** `MaxAge` is in seconds. */
export type Cors = { readonly MaxAge?: number } & Partial<
  Record<'AllowOrigins' | 'AllowMethods' | 'AllowHeaders' | 'ExposeHeaders', string[]>
>;

type Invoke = (name: string, event: APIGatewayProxyEventV2, requestId: string) => Promise<unknown>;

type Match = NonNullable<ReturnType<typeof matchRoute>>;

/** A quota of HTTP APIs in the API Gateway Developer Guide. */
const HEAD_BYTES_MAX = 10_240;
/** Lambda's quota for a payload. No source states the status of HTTP APIs; REST APIs have 413. */
const EVENT_BYTES_MAX = 6 * 1024 * 1024;

interface GatewayOptions {
  readonly pages?: (path: string) => Page | undefined;
  /** Handles calls to AWS, which have the same origin as the API. */
  readonly callAws?: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  readonly onRejection?: ((rejection: RequestSummary) => void) | undefined;
}

/**
 * An API Gateway HTTP API with payload format 2.0. `api` is read at each request, so requests wait
 * for a deployment in progress. `pages` are served at paths that the API does not have.
 *
 * It decodes a path, drops what follows a `?`, selects the route, and decodes again
 * (github.com/hotsock/voker, examples/aws-ingress-probe/README.md). The order follows from reports
 * that `%2F` in a path parameter is 404 and `%252F` arrives as `/`.
 */
export async function startGateway(
  port: number,
  api: () => Api | Promise<Api>,
  invoke: Invoke,
  onError: (error: string) => void,
  { pages, callAws, onRejection }: GatewayOptions = {},
) {
  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const rejection = foreignHost(req);
    // Calls to AWS do not wait for a deployment: requests in flight must finish.
    if (callAws && isAwsCall(req) && !rejection) return callAws(req, res);
    const { routes, cors } = await api();
    const requestId = randomUUID();
    const startedAt = Date.now();
    const { method = 'GET', url = '/' } = req;
    const [target = '/', ...queries] = url.split('?');
    let match: Match | undefined;
    const sendWithId = (response: APIGatewayProxyStructuredResultV2) =>
      send(req, res, response, {
        ...(cors && corsHeadersFor(cors, req)),
        'apigw-requestid': requestId,
      });
    const respond = (statusCode: number, message = STATUS_CODES[statusCode]) => {
      const route = match?.routeKey ?? `${method} ${target}`;
      onRejection?.({ route, status: statusCode, milliseconds: Date.now() - startedAt });
      const headers = { 'Content-Type': 'application/json' };
      sendWithId({ statusCode, headers, body: JSON.stringify({ message }) });
    };

    if (rejection) return respond(403, rejection);
    if (cors && method === 'OPTIONS') return sendWithId({ statusCode: 204 });
    const head = req.rawHeaders.reduce((size, part) => size + part.length, url.length);
    if (head > HEAD_BYTES_MAX) return respond(431);
    let path: string;
    try {
      const [routePath = '/'] = decodeURIComponent(target).split('?');
      path = decodeURIComponent(routePath);
      match = matchRoute(routes, method, routePath);
    } catch {
      return respond(400);
    }
    if (!match) {
      const page = method === 'GET' || method === 'HEAD' ? pages?.(path) : undefined;
      return page ? send(req, res, pageResponse(page), {}) : respond(404);
    }
    const body = await buffer(req);
    const event = eventOf(req, match, path, queries.join('?'), body, requestId);
    if (Buffer.byteLength(JSON.stringify(event)) > EVENT_BYTES_MAX)
      return respond(413, 'Request Entity Too Large');

    try {
      const response = await invoke(match.name, event, requestId);
      sendWithId(response as APIGatewayProxyStructuredResultV2);
    } catch (error) {
      onError(error instanceof Error ? error.message : String(error));
      respond(500);
    }
  }

  const inFlight = new Set<ServerResponse>();
  const server = createServer(
    { maxHeaderSize: 32 * 1024, keepAliveTimeout: 60_000 },
    (req, res) => {
      inFlight.add(res);
      res.on('close', () => inFlight.delete(res));
      serve(req, res).catch((error) => {
        if (error.code !== 'ECONNRESET') onError(String(error));
        res.destroy();
      });
    },
  );
  await listen(server, port);
  const address = server.address() as { port: number };

  return {
    url: `http://127.0.0.1:${address.port}`,
    /** Gives requests in flight this long to finish; meanwhile functions can still call AWS. */
    async stop(graceMs: number) {
      const finished = Promise.all([...inFlight].map((res) => once(res, 'close')));
      await Promise.race([finished, wait(graceMs, undefined, { ref: false })]);
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  // Beyond the backlog, clients would retry only after a second.
  server.listen({ port, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening').catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new Error(
      `Port ${port} is taken. Stop the process that uses it, or choose another port: ` +
        `PORT=${port + 1} npm start`,
    );
  });
}

/**
 * The route with the fewest parameters that has this method and matches this path. A greedy
 * parameter matches all further segments, also an empty one
 * (github.com/storacha/w3infra/pull/166), and comes after all others.
 */
function matchRoute(routes: Api['routes'], method: string, path: string) {
  const matches = [...routes].flatMap(([routeKey, name]) => {
    const [routeMethod, routePath = ''] = routeKey.split(' ');
    const pattern = routePath.split('/');
    const isGreedy = routePath.endsWith('+}');
    const segments = isGreedy ? splitAt(path, pattern.length) : path.split('/');
    if (routeMethod !== method || pattern.length !== segments.length) return [];
    const parameters: Record<string, string> = {};
    const isMatch = pattern.every((part, index) => {
      const segment = segments[index] as string;
      if (!part.startsWith('{')) return part === segment;
      parameters[part.replace(/^\{|\+?\}$/g, '')] = decodeURIComponent(segment);
      return segment !== '' || part.endsWith('+}');
    });
    const rank = isGreedy ? Number.POSITIVE_INFINITY : Object.keys(parameters).length;
    return isMatch ? [{ routeKey, name, parameters, rank }] : [];
  });
  return matches.sort((a, b) => a.rank - b.rank)[0];
}

/** The segments of a path, the last of which contains all further ones. */
function splitAt(path: string, count: number): string[] {
  const segments = path.split('/');
  const greedy = segments.splice(count - 1);
  return greedy.length > 0 ? [...segments, greedy.join('/')] : segments;
}

const TEXT = /^(text\/|application\/(json|javascript|xml|[\w.+-]+\+(json|xml)))/i;

function eventOf(
  req: IncomingMessage,
  { routeKey, parameters }: Match,
  path: string,
  rawQueryString: string,
  body: Buffer,
  requestId: string,
): APIGatewayProxyEventV2 {
  const { cookie, ...headers }: Record<string, string> = Object.fromEntries(
    Object.entries(req.headersDistinct).map(([name, values = []]) => [name, values.join()]),
  );
  const query = new URLSearchParams(rawQueryString);
  const isText = TEXT.test(headers['content-type'] ?? 'text/plain') && isUtf8(body);
  const now = new Date();

  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString,
    ...(cookie && { cookies: cookie.split(/;\s*/) }),
    headers: { ...headers, 'x-forwarded-proto': 'http' },
    ...(rawQueryString && {
      queryStringParameters: Object.fromEntries(
        [...query.keys()].map((name) => [name, query.getAll(name).join()]),
      ),
    }),
    ...(Object.keys(parameters).length > 0 && { pathParameters: parameters }),
    requestContext: {
      accountId: ACCOUNT,
      apiId: 'local',
      domainName: headers.host ?? '',
      domainPrefix: 'local',
      http: {
        method: req.method ?? '',
        path,
        protocol: `HTTP/${req.httpVersion}`,
        sourceIp: req.socket.remoteAddress ?? '',
        userAgent: headers['user-agent'] ?? '',
      },
      requestId,
      routeKey,
      stage: '$default',
      time: now.toUTCString(),
      timeEpoch: now.getTime(),
    },
    ...(body.length > 0 && { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.length > 0 && !isText,
  };
}

function corsHeadersFor(
  { AllowOrigins = [], AllowMethods = [], AllowHeaders = [], ExposeHeaders = [], MaxAge }: Cors,
  { method, headers: { origin, ...headers } }: IncomingMessage,
): Record<string, string> {
  if (!origin || !AllowOrigins.includes(origin)) return {};
  const preflight = method === 'OPTIONS' && 'access-control-request-method' in headers;
  return {
    'Access-Control-Allow-Origin': origin,
    Vary: 'Origin',
    ...(preflight
      ? {
          'Access-Control-Allow-Methods': AllowMethods.join(),
          'Access-Control-Allow-Headers': AllowHeaders.join().toLowerCase(),
          ...(MaxAge !== undefined && { 'Access-Control-Max-Age': String(MaxAge) }),
        }
      : { 'Access-Control-Expose-Headers': ExposeHeaders.join().toLowerCase() }),
  };
}

function send(
  req: IncomingMessage,
  res: ServerResponse,
  { statusCode = 200, headers = {}, body = '', isBase64Encoded }: APIGatewayProxyStructuredResultV2,
  extraHeaders: Record<string, string>,
): void {
  // Closing a connection with an unread body could discard the response before it arrives.
  req.resume();
  // Text is written together with the headers.
  const content = isBase64Encoded ? Buffer.from(body, 'base64') : body;
  const isEmpty = statusCode === 204 || statusCode === 304;
  res.writeHead(statusCode, {
    ...(headers as Record<string, string>),
    ...extraHeaders,
    ...(!isEmpty && { 'Content-Length': Buffer.byteLength(content) }),
  });
  // In a response to HEAD, Node omits the content but not its length (RFC 9110, 8.6).
  res.end(isEmpty ? undefined : content);
}

/** Swagger UI has inline styles and images; scripts are files. */
const PAGE_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "frame-ancestors 'none'";

const pageResponse = ({ contentType, body }: Page): APIGatewayProxyStructuredResultV2 => ({
  headers: {
    'Content-Type': contentType,
    'Content-Security-Policy': PAGE_POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    // The URL of the page that sets a password contains its key.
    'Referrer-Policy': 'no-referrer',
  },
  body,
});
