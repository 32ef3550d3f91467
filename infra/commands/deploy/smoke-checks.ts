import * as v from 'valibot';
import { type Route, routes } from '../../../routes.ts';
import { print } from '../command-line.ts';

/** A request; without more, its response must be as the contract of its route states. */
interface Step {
  /** What is checked, if it is not the route. */
  readonly name?: string;
  /** The expected status, if it is not the contract's. */
  readonly status?: number;
  /** If it is not the deployment's. */
  readonly url?: string;
  /** If it is not the administrator's. */
  readonly token?: string;
  /** The values of `{…}` in the path. */
  readonly path?: Readonly<Record<string, string | number>>;
  /** With its question mark. */
  readonly query?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Longer than the 30 seconds after which API Gateway responds. */
const TIMEOUT_MS = 35_000;

const SECURITY_HEADERS = [
  'Cache-Control',
  'Content-Security-Policy',
  'Referrer-Policy',
  'Strict-Transport-Security',
  'X-Content-Type-Options',
];

const contractOf = (route: string) => routes.find((row) => row.route === route)?.contract;

/** Checks the service at a URL step by step, and prints a line for each check. */
export class Checks {
  readonly #url: string;
  /** The token of the administrator, which public routes do not get. */
  token = '';
  passed = 0;
  failed = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Prints a check that has passed; throws if something is wrong. */
  report(name: string, mistake: string | false | undefined): void {
    if (mistake) throw new Error(`${name}: ${mistake}`);
    this.passed++;
    print(`ok    ${name}`);
  }

  /**
   * Runs checks that depend on each other: the first failure, which it prints, ends them, but not
   * the test. Returns whether all have passed.
   */
  async sequence(checks: () => Promise<unknown>): Promise<boolean> {
    try {
      await checks();
      return true;
    } catch (error) {
      this.failed++;
      print(`FAIL  ${(error as Error).message}`);
      return false;
    }
  }

  /** Checks the response to a request. Returns it. */
  async step(route: Route['route'] | 'HEAD /api/health', step: Step = {}) {
    const { status, name = status ? `${route} responds with ${status}` : route } = step;
    const received = await this.send(route, step);
    this.report(name, mistakeIn(received, route, status));
    return received;
  }

  /** Sends a request. Fails only if there is no response. */
  async send(route: string, step: Step = {}) {
    const { url = this.#url, token = this.token, path = {}, query = '', body, headers } = step;
    const [method = '', pattern = ''] = route.split(' ');
    const target = pattern.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(path[name] ?? ''),
    );
    const { access, oauth: isForm } = contractOf(route) ?? {};
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
    const form = () => String(new URLSearchParams(body as Record<string, string>));
    const response = await fetch(`${url.replace(/\/$/, '')}${target}${query}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        ...(token && access !== 'public' && { Authorization: `Bearer ${token}` }),
        ...(body && { 'Content-Type': type }),
        ...headers,
      },
      ...(body && { body: isForm ? form() : JSON.stringify(body) }),
    }).catch((error) => {
      const { code, message } = error.cause ?? error;
      throw new Error(`${route} at ${url}: no response: ${code ?? message}`);
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }
}

type Received = Awaited<ReturnType<Checks['send']>>;

/** What is wrong with a response, if anything. Without a contract, it must have no body. */
function mistakeIn(
  { status, headers, body }: Received,
  route: string,
  otherStatus: number | undefined,
): string | undefined {
  const contract = contractOf(route);
  const expected = otherStatus ?? contract?.status ?? 200;
  if (status !== expected) {
    const message = body?.message ? ` with ${body.message}` : '';
    const id = headers.get('apigw-requestid');
    const log = id ? `; the access log has its requestId ${id}` : '';
    return `${status}${message} instead of ${expected}${log}`;
  }
  // API Gateway renames some headers of some kinds of API.
  const renamed = [...headers.keys()].find((name) => name.startsWith('x-amzn-remapped-'));
  if (renamed) return `a header was renamed to ${renamed}`;
  const required = [...SECURITY_HEADERS, ...((expected < 300 && contract?.headers) || [])];
  const missing = required.find((name) => !headers.has(name));
  if (missing) return `the header ${missing} is missing`;
  if (expected >= 400)
    return body?.status === expected ? undefined : 'the body is not an error of the service';
  if (!contract || expected === 304)
    return body === undefined ? undefined : 'the response has a body';
  const complies = !contract.response || v.is(contract.response, body);
  return complies ? undefined : 'the body does not comply with the contract';
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
