import * as v from 'valibot';
import { COMMON_HEADERS } from '../../../lib/http/lambda-handler.ts';
import { routes } from '../../../routes.ts';
import { EXAMPLES, type Example } from '../../api-document/examples.ts';
import { fillExample } from '../../api-document/fill-example.ts';
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
export type Row = string | readonly [string, Sent | ((known: Known) => Sent | Promise<Sent>)];

/** Longer than the 30 seconds after which API Gateway responds. */
const TIMEOUT_MS = 35_000;

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
        const [route, special] = typeof row === 'string' ? [row, {}] : row;
        const sent = typeof special === 'function' ? await special(this.known) : special;
        const received = await this.send(route, sent);
        const { status, url, headers } = sent;
        const origin = headers?.Origin;
        const name = [
          route,
          url && `past the edge at ${url}`,
          origin && `for a page of ${origin}`,
          status && `responds with ${status}`,
        ]
          .filter(Boolean)
          .join(' ');
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
  async send(route: string, { url = this.#url, headers, body: changes }: Sent = {}) {
    const [method, pattern = ''] = route.split(' ');
    const { admin, module, own = admin } = this.known;
    const id = this.known[route.includes('-confs') ? 'parameterId' : 'integrationId'];
    const path = pattern.replace(/\{(\w+)\}/g, (_, name) =>
      name === 'id' ? id : this.known[name],
    );
    const example = fillExample(EXAMPLES[route as never] as Example, this.known)?.body;
    const body: Known | undefined = (example || changes) && { ...Object(example), ...changes };
    const { access, oauth: isForm } = contractOf(route) ?? {};
    const isModule = typeof access === 'object' && access.module;
    const token = isModule ? module : route.includes('/api/account') ? own : admin;
    const response = await fetch(`${url.replace(/\/$/, '')}${path}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        ...(token && access !== 'public' && { Authorization: `Bearer ${token}` }),
        ...(body && !isForm && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: isForm ? new URLSearchParams(body) : JSON.stringify(body),
    }).catch((error) => {
      const { code, message } = error.cause ?? error;
      throw new Error(`${route} at ${url}: no response: ${code ?? message}`);
    });
    const { status, headers: received } = response;
    const text = await response.text();
    const json = (await new Response(text).json().catch(() => undefined)) as Known | undefined;
    return { status, headers: received, text, body: json };
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
    if (id_token) known[known.admin ? 'own' : 'admin'] = id_token;
    if (access_token) known.module = access_token;
    if (secret) known.code = authenticator(secret).code();
    if (recoveryCodes) known.code = recoveryCodes[0];
    if (rest.clientSecret) Object.assign(known, rest);
    known.build ??= rest.build;
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
  if (status !== expected) {
    const message = body?.message ? ` with ${body.message}` : '';
    const id = headers.get('apigw-requestid');
    const log = id ? `; the access log has its requestId ${id}` : '';
    return `${status}${message} instead of ${expected}${log}`;
  }
  const present = expected === success ? promised : [];
  // API Gateway itself responds to what a browser asks before a request of another origin.
  const own = route.startsWith('OPTIONS') ? [] : Object.keys(COMMON_HEADERS);
  for (const name of [...own, ...present, ...Object.keys(expect)]) {
    const value = headers.get(name);
    if (!value?.includes(expect[name] ?? '')) return `the header ${name} is ${value ?? 'missing'}`;
  }
  if (!response || expected !== success || v.is(response, body)) return undefined;
  return 'the body does not comply with the contract';
}
