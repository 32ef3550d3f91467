import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { ACCOUNT } from '../stack/template.ts';

/** The HTTP API as the template describes it. */
export interface Api {
  /** Route keys, each with the name of its function. */
  readonly routes: ReadonlyMap<string, string>;
  readonly cors: Cors | undefined;
}

export interface Cors {
  readonly AllowOrigins?: string[];
  readonly AllowMethods?: string[];
  readonly AllowHeaders?: string[];
  readonly ExposeHeaders?: string[];
}

type Invoke = (name: string, event: APIGatewayProxyEventV2, requestId: string) => Promise<unknown>;

interface Match {
  readonly routeKey: string;
  readonly name: string;
  readonly parameters: Record<string, string>;
}

/** What API Gateway answers itself. */
const SAYS = {
  400: 'Bad Request',
  404: 'Not Found',
  413: 'Request Entity Too Large',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;

const LARGEST_BODY = 10 * 1024 * 1024;
const LARGEST_HEAD = 10_240;
const INTEGRATION_TIMEOUT = 30_000;

/**
 * An HTTP API of API Gateway, payload format 2.0, on loopback. It does not imitate throttling, access logs and custom
 * domains. `api` is asked at each request, so that a new template takes effect at once.
 */
export async function startGateway(port: number, api: () => Api, invoke: Invoke, onError: (error: string) => void) {
  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { routes, cors } = api();
    const requestId = randomUUID();
    const corsHeaders = cors ? allowed(cors, req) : {};
    const say = (status: keyof typeof SAYS) =>
      send(
        req,
        res,
        {
          statusCode: status,
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ message: SAYS[status] }),
        },
        { ...corsHeaders, 'apigw-requestid': requestId },
      );

    if (cors && req.method === 'OPTIONS')
      return send(req, res, { statusCode: 204 }, { ...corsHeaders, 'apigw-requestid': requestId });
    const head = req.rawHeaders.reduce((size, part) => size + part.length, (req.url ?? '').length);
    if (head > LARGEST_HEAD) return say(431);
    const [rawPath = '/', ...query] = (req.url ?? '/').split('?');
    let match: Match | undefined;
    let path: string;
    try {
      path = decodeURIComponent(rawPath);
      match = find(routes, req.method ?? 'GET', rawPath);
    } catch {
      return say(400);
    }
    if (!match) return say(404);
    const body = await bodyOf(req);
    if (!body) return say(413);

    const event = eventOf(req, match, path, query.join('?'), body, requestId);
    try {
      const answer = await within(INTEGRATION_TIMEOUT, invoke(match.name, event, requestId));
      if (answer === undefined) return say(503);
      send(req, res, answer as APIGatewayProxyStructuredResultV2, { ...corsHeaders, 'apigw-requestid': requestId });
    } catch (error) {
      onError(error instanceof Error ? error.message : String(error));
      say(500);
    }
  }

  const server = createServer({ maxHeaderSize: 32 * 1024, keepAliveTimeout: 60_000 }, (req, res) => {
    serve(req, res).catch((error) => {
      onError(String(error));
      res.destroy();
    });
  });
  // With fewer in line, the kernel would have the next wait for a second before they try again.
  server.listen({ port, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening');
  const address = server.address() as { port: number };

  return {
    url: `http://127.0.0.1:${address.port}`,
    /** Answers what it has begun, for a while, and takes nothing more. */
    async stop(grace: number) {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), grace);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** The route with the most fixed segments; parameters are decoded once, as API Gateway does. */
function find(routes: ReadonlyMap<string, string>, method: string, rawPath: string): Match | undefined {
  const segments = rawPath.split('/');
  let best: (Match & { fixed: number }) | undefined;
  for (const [routeKey, name] of routes) {
    const [routeMethod, routePath = ''] = routeKey.split(' ');
    const pattern = routePath.split('/');
    if (routeMethod !== method || pattern.length !== segments.length) continue;
    const parameters: Record<string, string> = {};
    let fixed = 0;
    const fits = pattern.every((part, index) => {
      const segment = segments[index] as string;
      if (!part.startsWith('{')) {
        fixed++;
        return part === segment;
      }
      parameters[part.slice(1, -1)] = decodeURIComponent(segment);
      return segment !== '';
    });
    if (fits && (!best || fixed > best.fixed)) best = { routeKey, name, parameters, fixed };
  }
  return best;
}

async function bodyOf(req: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size <= LARGEST_BODY) chunks.push(chunk);
  }
  return size > LARGEST_BODY ? undefined : Buffer.concat(chunks);
}

/** As Apache's common log format has it: 20/Nov/2026:09:47:44 +0000. */
function clfTime(date: Date): string {
  const [, day, month, year, time] = date.toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}

const TEXT = /^(text\/|application\/(json|javascript|xml|[\w.+-]+\+(json|xml)))/i;

function eventOf(
  req: IncomingMessage,
  { routeKey, parameters }: Match,
  path: string,
  query: string,
  body: Buffer,
  requestId: string,
): APIGatewayProxyEventV2 {
  const headers: Record<string, string> = Object.create(null);
  for (let index = 0; index < req.rawHeaders.length; index += 2) {
    const name = (req.rawHeaders[index] as string).toLowerCase();
    const value = req.rawHeaders[index + 1] as string;
    headers[name] = name in headers ? `${headers[name]},${value}` : value;
  }
  const { cookie, ...otherHeaders } = headers;
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(query))
    values[name] = name in values ? `${values[name]},${value}` : value;
  const isText = TEXT.test(headers['content-type'] ?? 'text/plain') && isUtf8(body);
  const now = new Date();

  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString: query,
    ...(cookie && { cookies: cookie.split(/;\s*/) }),
    headers: otherHeaders,
    ...(query && { queryStringParameters: values }),
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
      time: clfTime(now),
      timeEpoch: now.getTime(),
    },
    ...(body.length > 0 && { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.length > 0 && !isText,
  };
}

function allowed(cors: Cors, req: IncomingMessage): Record<string, string> {
  const { origin } = req.headers;
  if (!origin || !cors.AllowOrigins?.includes(origin)) return {};
  const preflight = req.method === 'OPTIONS' && 'access-control-request-method' in req.headers;
  return {
    'Access-Control-Allow-Origin': origin,
    Vary: 'Origin',
    ...(preflight
      ? {
          'Access-Control-Allow-Methods': (cors.AllowMethods ?? []).join(','),
          'Access-Control-Allow-Headers': (cors.AllowHeaders ?? []).join(',').toLowerCase(),
        }
      : { 'Access-Control-Expose-Headers': (cors.ExposeHeaders ?? []).join(',').toLowerCase() }),
  };
}

function send(
  req: IncomingMessage,
  res: ServerResponse,
  { statusCode = 200, headers = {}, body = '', isBase64Encoded }: APIGatewayProxyStructuredResultV2,
  more: Record<string, string>,
): void {
  // An answer before the whole body has come would be lost on a connection that is then cut off.
  req.resume();
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  res.writeHead(statusCode, {
    ...(headers as Record<string, string>),
    ...more,
    ...(statusCode !== 204 && { 'Content-Length': bytes.length }),
  });
  res.end(req.method === 'HEAD' || statusCode === 204 ? undefined : bytes);
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
