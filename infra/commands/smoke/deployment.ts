import * as v from 'valibot';
import { type Route, routes } from '../../../routes.ts';

/** The parts of a request beyond its route. */
export interface Sent {
  /** If it is not that of the administrator. */
  readonly token?: string;
  /** The values of `{…}` in the path. */
  readonly path?: Readonly<Record<string, string | number>>;
  /** With its question mark. */
  readonly query?: string;
  /** Sent as JSON. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response; `body` is the parsed JSON, or undefined without any. */
interface Received {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: its schema has been checked
  readonly body: any;
}

/** Longer than the 30 seconds after which API Gateway responds. */
const TIMEOUT_MS = 35_000;

const SECURITY_HEADERS = {
  'cache-control': /^no-store$|^public, max-age=300$/,
  'content-security-policy': /^default-src 'none'; frame-ancestors 'none'$/,
  'referrer-policy': /^no-referrer$/,
  'strict-transport-security': /^max-age=63072000; includeSubDomains$/,
  'x-content-type-options': /^nosniff$/,
};

/** Something that a check expected and did not find; the message names both. */
export class Unexpected extends Error {}

/** The deployed service at a URL. */
export class Deployment {
  readonly #url: string;
  /** The token of the administrator after the login, which public routes do not get. */
  token: string | undefined;

  constructor(url: string) {
    this.#url = url.replace(/\/$/, '');
  }

  /** Sends a request. Fails only if there is no response. */
  async send(
    route: string,
    { token = this.token, path = {}, query = '', body, headers }: Sent = {},
  ): Promise<Received> {
    const isPublic = routes.some((row) => row.route === route && row.contract.access === 'public');
    const [method = '', pattern = ''] = route.split(' ');
    const target = pattern.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(path[name] ?? ''),
    );
    const response = await fetch(`${this.#url}${target}${query}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        ...(token !== undefined && !isPublic && { Authorization: `Bearer ${token}` }),
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: parsed(await response.text()),
    };
  }

  /** Sends a request that must succeed as its contract states: status, headers and body. */
  async succeed(route: Route['route'], sent: Sent = {}): Promise<Received> {
    const { contract } = routes.find((row) => row.route === route) as Route;
    const received = await this.send(route, sent);
    expectStatus(received, contract.status ?? 200);
    expectHeaders(received, contract.headers ?? []);
    if (contract.response && !v.is(contract.response, received.body))
      throw new Unexpected('the body does not comply with the contract');
    return received;
  }

  /** Sends a request whose response must have this status and no body. */
  async succeedEmpty(route: string, status: number, sent: Sent = {}): Promise<void> {
    const received = await this.send(route, sent);
    expectStatus(received, status);
    expectHeaders(received, []);
    if (received.body !== undefined) throw new Unexpected('the response has a body');
  }

  /**
   * Sends a request that must be rejected with this status by the service itself, not by a proxy.
   */
  async reject(route: Route['route'], status: number, sent: Sent = {}): Promise<Received> {
    const received = await this.send(route, sent);
    expectStatus(received, status);
    expectHeaders(received, []);
    if (received.body?.status !== status)
      throw new Unexpected('the body is not that of an error of the service');
    return received;
  }
}

function expectStatus({ status, headers, body }: Received, expected: number): void {
  if (status === expected) return;
  const message = body?.message ? ` with ${body.message}` : '';
  const request = headers.get('apigw-requestid');
  throw new Unexpected(
    `${status}${message} instead of ` +
      `${expected}${request ? `; the access log has its requestId ${request}` : ''}`,
  );
}

/** API Gateway renames some headers of some kinds of API to `x-amzn-remapped-…`. */
function expectHeaders({ headers }: Received, required: readonly string[]): void {
  for (const name of required) {
    if (!headers.has(name)) throw new Unexpected(`the header ${name} is missing`);
  }
  for (const [name, pattern] of Object.entries(SECURITY_HEADERS)) {
    if (!pattern.test(headers.get(name) ?? ''))
      throw new Unexpected(`the header ${name} is ${headers.get(name)}`);
  }
  const renamed = [...headers.keys()].find((name) => name.startsWith('x-amzn-remapped-'));
  if (renamed) throw new Unexpected(`a header was renamed to ${renamed}`);
}

/** A proxy in front of the service can respond with something other than JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
