import * as v from 'valibot';
import { COMMON_HEADERS } from '../../../lib/http/lambda-handler.ts';
import { routes } from '../../../routes.ts';
import { EXAMPLES, type Example, fillExample } from '../../api-document/examples.ts';
import { print } from '../command-line.ts';
import { authenticator } from './authenticator.ts';

/** What responses have told, by the names of the placeholders of examples. */
// biome-ignore lint/suspicious/noExplicitAny: responses differ
export type Known = Record<string, any>;

/** How a check differs from the example of its route and from its contract. */
interface Sent {
  readonly status?: number;
  /** What headers of the response must contain. */
  readonly expect?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A check: a route with its values or their placeholders, and what is special about it. */
export type Row = string | readonly [route: string, sent: Sent];

/** Longer than the 30 seconds after which API Gateway responds. */
const TIMEOUT_MS = 35_000;

const idOf = (route: string): string =>
  /\/scim\//.test(route) ? 'userId' : /-confs/.test(route) ? 'parameterId' : 'integrationId';

const contractOf = (route: string) =>
  routes.find((row) => row.route === route.split('?')[0])?.contract;

/** Checks the service at a URL row by row, and prints a line for each check. */
export class Checks {
  readonly #url: string;
  readonly known: Known;
  passed = 0;
  failed = 0;

  constructor(url: string, known: Known) {
    this.#url = url;
    this.known = known;
  }

  /** Runs rows until one fails, which it prints. Returns whether all have passed. */
  async run(rows: readonly Row[] | Promise<readonly Row[]>): Promise<boolean> {
    try {
      for (const row of await rows) {
        const [route, sent] = typeof row === 'string' ? [row, {} as Sent] : row;
        const received = await this.send(route, sent);
        const { status, url, headers: { Origin: origin } = {} } = sent;
        const where = url ? ` at ${url}` : origin ? ` for a page of ${origin}` : '';
        const name = `${route}${where}${status ? ` responds with ${status}` : ''}`;
        const mistake = mistakeIn(received, route, sent);
        if (mistake) throw new Error(`${name}: ${mistake}`);
        this.passed++;
        print(`ok    ${name}`);
        this.#learn(route, received);
      }
      return true;
    } catch (error) {
      this.failed++;
      print(`FAIL  ${(error as Error).message}`);
      return false;
    }
  }

  /** Sends a request. Fails only if there is no response. */
  async send(route: string, { url = this.#url, headers, body: changes, status }: Sent = {}) {
    const { known } = this;
    const [method, pattern = ''] = route.split(' ');
    const id = known[idOf(route)];
    const values: Known = { ...known, id };
    const path = pattern.replace(/\{(\w+)\}/g, (_, name) => values[name]);
    const example = (EXAMPLES[route as never] as Example | undefined)?.body;
    const both = (example || changes) && { ...Object(example), ...changes };
    const body = fillExample(both as Known | undefined, known);
    const { access, oauth: isForm } = contractOf(route) ?? {};
    const isModule = typeof access === 'object' && access.module;
    const own = route.includes('/api/account') && known.own;
    const token = isModule ? known.module : own || known.admin;
    const response = await fetch(`${url.replace(/\/$/, '')}${path}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        ...(token && access !== 'public' && { Authorization: `Bearer ${token}` }),
        ...(body && !isForm && { 'Content-Type': 'application/json' }),
        ...(status === 304 && { 'If-None-Match': known.etag }),
        ...headers,
      },
      body: isForm ? new URLSearchParams(body) : JSON.stringify(body),
    }).catch((error) => {
      const { code, message } = error.cause ?? error;
      throw new Error(`${route} at ${url}: no response: ${code ?? message}`);
    });
    const text = await response.text();
    const json = (await new Response(text).json().catch(() => undefined)) as Known | undefined;
    return { status: response.status, headers: response.headers, text, body: json };
  }

  /** The first login is the administrator's, a later one the marked user's. */
  #learn(route: string, { headers, body }: Received): void {
    const { known } = this;
    const { id, id_token, access_token, secret, recoveryCodes, ...rest } = Object(body);
    if (route === 'POST /api/users') known.userId = id;
    if (route === 'POST /api/utm-integrations') known.integrationId = id;
    if (route === 'POST /api/utm-integration-confs') known.parameterId = id;
    if (route.endsWith('/sessions'))
      known.series = body?.find(({ current }: Known) => !current)?.series;
    if (route === 'POST /api/account/tokens') known.series = rest.series;
    if (id_token) known[known.admin ? 'own' : 'admin'] = id_token;
    if (access_token) known.module = access_token;
    if (secret) known.code = authenticator(secret).code();
    if (recoveryCodes) known.code = recoveryCodes[0];
    if (rest.clientSecret || rest.build) Object.assign(known, rest);
    known.etag = headers.get('etag');
  }
}

type Received = Awaited<ReturnType<Checks['send']>>;

/** What is wrong with a response, if anything. */
function mistakeIn(
  { status, headers, body }: Received,
  route: string,
  { status: otherStatus, expect = {} }: Sent,
): string | undefined {
  const { status: success = 200, headers: promised = [], response } = contractOf(route) ?? {};
  const expected = otherStatus ?? success;
  const id = headers.get('apigw-requestid');
  const [message, log] = [
    body?.message ?? body?.detail,
    id && `; the access log has its requestId ${id}`,
  ];
  if (status !== expected)
    return `${status}${message ? ` with ${message}` : ''} instead of ${expected}${log ?? ''}`;
  const present = expected === success ? promised : [];
  // API Gateway itself responds to what a browser asks before a request of another origin.
  const common = route.startsWith('OPTIONS') ? [] : Object.keys(COMMON_HEADERS);
  for (const name of [...common, ...present, ...Object.keys(expect)]) {
    const value = headers.get(name);
    if (!value?.includes(expect[name] ?? '')) return `the header ${name} is ${value ?? 'missing'}`;
  }
  const complies = !response || expected !== success || v.is(response, body);
  return complies ? undefined : 'the body does not comply with the contract';
}
