import * as v from 'valibot';
import type { Contract } from '../../../lib/contract/contract.ts';
import { type Route, routes } from '../../../routes.ts';
import { print } from '../command-line.ts';

/** A request; without more, its response must be as the contract of its route states. */
interface Step {
  /** The name of a check that does not prove that the route works. */
  readonly name?: string;
  /** The cause for which the service itself, not a proxy, must reject the request. */
  readonly rejects?: string;
  /** The expected status, if it is not that of the contract. */
  readonly status?: number;
  /** If it is not that of the deployment. */
  readonly url?: string;
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

/** Longer than the 30 seconds after which API Gateway responds. */
const TIMEOUT_MS = 35_000;

const SECURITY_HEADERS = {
  'cache-control': /^no-store$|^public, max-age=300$/,
  'content-security-policy': /^default-src 'none'; frame-ancestors 'none'$/,
  'referrer-policy': /^no-referrer$/,
  'strict-transport-security': /^max-age=63072000; includeSubDomains$/,
  'x-content-type-options': /^nosniff$/,
};

/** Why a check fails, as a phrase for its line. */
export class Unexpected extends Error {}

/** Thrown after the failure of a check was printed. */
class CheckFailed extends Error {}

const contractOf = (route: string) => routes.find((row) => row.route === route)?.contract;

/** Checks the service at a URL step by step, and prints a line for each check. */
export class Checks {
  readonly #url: string;
  readonly #checkedRoutes = new Set<string>();
  /** The token of the administrator, which public routes do not get. */
  token = '';
  passed = 0;
  failed = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Prints a check, which has failed if something is wrong. */
  report(name: string, mistake: string | false = false): void {
    if (mistake) this.#fail(name, mistake);
    this.passed++;
    print(`ok    ${name}`);
  }

  #fail(name: string, mistake: string): never {
    this.failed++;
    print(`FAIL  ${name}: ${mistake}`);
    throw new CheckFailed();
  }

  /** Runs one check, which fails if its action throws. */
  async check<T>(name: string, action: () => Promise<T>): Promise<T> {
    const result = await action().catch((error) => this.#fail(name, phraseFor(error)));
    this.report(name);
    return result;
  }

  /** Runs checks that depend on each other: the first failure ends them, but not the test. */
  async sequence<T>(checks: () => Promise<T>): Promise<T | undefined> {
    try {
      return await checks();
    } catch (error) {
      if (error instanceof CheckFailed) return undefined;
      throw error;
    }
  }

  /** Checks the response to a request. Returns it. */
  async step(route: Route['route'] | 'HEAD /api/health', step: Step = {}) {
    const { name, rejects, status } = step;
    if (!name) this.#checkedRoutes.add(route);
    const named = rejects ? `${route} rejects ${rejects} with ${status}` : route;
    return this.check(name ?? named, () => this.request(route, step));
  }

  /** Sends a request as a part of a check. Fails unless the response is as expected. */
  async request(route: string, step: Step = {}) {
    const received = await this.send(route, step);
    const mistake = mistakeIn(received, contractOf(route), step.status);
    if (mistake) throw new Unexpected(mistake);
    return received;
  }

  /** Sends a request as a part of a check. Fails only if there is no response. */
  async send(route: string, step: Step = {}) {
    const { url = this.#url, token = this.token, path = {}, query = '', body, headers } = step;
    const [method = '', pattern = ''] = route.split(' ');
    const target = pattern.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(path[name] ?? ''),
    );
    const isPublic = contractOf(route)?.access === 'public';
    const response = await fetch(`${url.replace(/\/$/, '')}${target}${query}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        ...(token && !isPublic && { Authorization: `Bearer ${token}` }),
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { status } = response;
    return { status, headers: response.headers, body: parsed(await response.text()) };
  }

  /**
   * Checks the routes that only read, name no entity and were not checked yet: without a token the
   * public ones, with it all.
   */
  async otherReads(): Promise<void> {
    for (const { route, contract } of routes)
      if (/^GET [^{]*$/.test(route) && !this.#checkedRoutes.has(route))
        if (this.token || contract.access === 'public') await this.sequence(() => this.step(route));
  }

  /** Fails unless every row of routes.ts was checked. */
  async everyRouteWasChecked(): Promise<void> {
    const others = routes
      .map(({ route }) => route)
      .filter((route) => !this.#checkedRoutes.has(route));
    const mistake = others.length > 0 && `all but ${others.join(', ')}`;
    await this.sequence(async () => this.report('every route was checked', mistake));
  }
}

type Received = Awaited<ReturnType<Checks['send']>>;

/** What is wrong with a response, if anything. Without a contract, it must have no body. */
function mistakeIn(
  { status, headers, body }: Received,
  contract: Contract | undefined,
  expected: number = contract?.status ?? 200,
): string | undefined {
  if (status !== expected) {
    const message = body?.message ? ` with ${body.message}` : '';
    const id = headers.get('apigw-requestid');
    const log = id ? `; the access log has its requestId ${id}` : '';
    return `${status}${message} instead of ${expected}${log}`;
  }
  const required = (expected < 300 && contract?.headers) || [];
  for (const name of [...required, ...Object.keys(SECURITY_HEADERS)])
    if (!headers.has(name)) return `the header ${name} is missing`;
  for (const [name, pattern] of Object.entries(SECURITY_HEADERS))
    if (!pattern.test(headers.get(name) ?? '')) return `the header ${name} is ${headers.get(name)}`;
  // API Gateway renames some headers of some kinds of API.
  const renamed = [...headers.keys()].find((name) => name.startsWith('x-amzn-remapped-'));
  if (renamed) return `a header was renamed to ${renamed}`;
  if (expected >= 400)
    return body?.status === expected
      ? undefined
      : 'the body is not that of an error of the service';
  if (!contract || expected === 304)
    return body === undefined ? undefined : 'the response has a body';
  if (contract.response && !v.is(contract.response, body))
    return 'the body does not comply with the contract';
  return undefined;
}

/** A failed expectation, or the reason why there was no response. */
function phraseFor(error: Error): string {
  if (error instanceof Unexpected) return error.message;
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
  return `no response: ${code ?? message}`;
}

/** The JSON of a body; undefined if a proxy has responded with something else, or with nothing. */
// biome-ignore lint/suspicious/noExplicitAny: the schema of the contract is checked
function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
