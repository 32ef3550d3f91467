import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { exitOnSignal } from '../../../infra/commands/command-line.ts';
import { externalEngine } from '../../../infra/local/aws/engine.ts';
import type { Mail } from '../../../infra/local/aws/mailbox.ts';
import type { AwsCall, AwsResponse } from '../../../infra/local/calls/aws-call.ts';
import { type Cloud, startCloud } from '../../../infra/local/cloud.ts';
import { createFirstAccounts } from '../../../infra/local/first-accounts.ts';
import type { CloudOptions } from '../../../infra/local/running-stack.ts';
import { operatorsTable } from '../../../infra/local/state/operator.ts';
import { openMemoryState } from '../../../infra/local/state/state.ts';
import type { Table } from '../../../lib/table/table.ts';
import { checkContract } from './api-document.ts';
import { expectIntact } from './items.ts';
import { randomNumbers, seed } from './run-variables.ts';
import { watchSecrets } from './watch-secrets.ts';

export interface Sent {
  readonly token?: string | undefined;
  /** Sent as JSON, or as a form to the token endpoint; a string or bytes are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Record<string, string | string[]>;
  /** The source address in the loopback network; 127.0.0.1 unless given. */
  readonly from?: string;
  /** The URL of a proxy to send it to, which hands it on to the present functions. */
  readonly via?: string;
  /** Whether the function may crash: the response is then API Gateway's. */
  readonly mayCrash?: boolean;
}

/** A response; `body` is the parsed JSON, or undefined without any. */
export interface Received {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape
  readonly body: any;
  readonly text: string;
  /** The assembly whose function has responded; undefined if it is the present one. */
  readonly release?: string | undefined;
}

/** A local instance with its data in memory and the accounts admin and user. */
export interface Gatehouse {
  readonly cloud: Cloud;
  readonly table: Table;
  readonly lines: readonly string[];
  /** Sends a request and checks the response against the contract of its route. */
  call(method: string, path: string, sent?: Sent): Promise<Received>;
  logIn(login: string, password?: string): Promise<string>;
  /** A token of admin without a further login, each of which computes a hash. */
  adminToken(): Promise<string>;
  /** Its password is its login, padded with dots to the minimum of four characters. */
  makeUser(login: string, fields?: Record<string, unknown>): Promise<Received['body']>;
  /** The line that the function has logged about a request. */
  lineOf(received: Received): Promise<Record<string, unknown>>;
  /** The messages to an address, oldest first, once all mails have been tried. */
  mailsTo(address: string): Promise<Mail[]>;
  keyMailedTo(address: string): Promise<string>;
  /** Fails after a late or denied call or a leaked secret, or if the table is not intact. */
  assertNoViolations(): Promise<void>;
  /** Rejects new calls until the pending ones have ended, so that a timed-out test also ends. */
  quiesce(): Promise<void>;
  /** Checks for violations, then stops the instance. */
  stop(): Promise<void>;
}

/** Options of an instance: the stack, an interceptor, and the checks of `assertNoViolations`. */
export interface LaunchOptions
  extends Pick<CloudOptions, 'assembly'>,
    Partial<Pick<CloudOptions, 'intercept' | 'mailLinkBase' | 'maxInstancesPerFunction'>> {
  /** Whether it must stay within its permissions and leave the table intact; false for mutants. */
  readonly checksPermissions?: boolean;
  /** Whether tests write items that no function would. */
  readonly breaksData?: boolean;
  /** Receives the permissions that were not used so far, at each check for violations. */
  readonly onUnusedPermissions?: (permissions: readonly string[]) => void;
  /** Whether the changes of an account are limited, as they are on AWS; tests make too many. */
  readonly limitsChanges?: boolean;
  /** The assembly of a release whose functions serve half of the requests. */
  readonly release?: string | undefined;
}

// vitest stops its workers with SIGTERM, and Ctrl-C reaches every process; only an exit also
// stops the engines.
exitOnSignal(1);
// Each running instance has two exit listeners: of its engine and of its files.
process.setMaxListeners(100);

/** The description of the function that fetches keys of issuers. It runs by the clock. */
export const FETCHER = 'fetches the keys of identity providers every minute';

/** The instances that are running. */
export const running = new Set<Gatehouse>();

export async function launch({
  checksPermissions = true,
  breaksData = false,
  onUnusedPermissions,
  limitsChanges = false,
  release,
  ...options
}: LaunchOptions): Promise<Gatehouse> {
  const lines: string[] = [];
  const state = openMemoryState();
  const secrets = watchSecrets();
  const common: Omit<CloudOptions, 'assembly' | 'port'> = {
    onEngineExit: (reason) => lines.push(`The engine has exited. ${reason}`),
    ...options,
    async intercept(call, forward) {
      const forwarded = () =>
        !limitsChanges && isChangeCount(call) ? Promise.resolve(COUNTED) : forward();
      // What tests count or delay must not depend on the second of the minute.
      const intercepted = call.functionName === FETCHER ? undefined : options.intercept;
      const response = await (intercepted ? intercepted(call, forwarded) : forwarded());
      secrets.called(call, response);
      return response;
    },
    state,
    onLine: (line) => lines.push(line),
  };
  const cloud = await startCloud({
    ...common,
    assembly: options.assembly,
    port: 0,
    engineUrl: process.env.TEST_ENGINE_URL || externalEngine(),
  });
  await createFirstAccounts(cloud, state);
  const released = release ? await startBeside(cloud, release, common) : undefined;
  // Closes idle connections before the server does: a connection that the server closes would break
  // the next request.
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 20_000 });
  const sendPresent = sender(agent, cloud.url);
  const sendReleased = released ? sender(agent, released.url) : sendPresent;
  const random = randomNumbers(seed);
  /** Each request is served by the functions of a random side, unless only the present has them. */
  const send: typeof sendPresent = async (...request) => {
    const [, path, sent] = request;
    const isPresent = random() < 0.5 || path.startsWith('/console') || sent?.via !== undefined;
    const received = isPresent ? undefined : await sendReleased(...request);
    const isServed = received !== undefined && received.text !== UNKNOWN_ROUTE;
    return isServed ? { ...received, release } : sendPresent(...request);
  };

  let firstLogin: Promise<string> | undefined;
  let pendingCalls = 0;
  let isQuiescing = false;
  const gatehouse: Gatehouse = {
    cloud,
    table: operatorsTable(cloud),
    lines,
    async call(method, path, sent) {
      if (isQuiescing) throw new Error('The test that made this call has ended');
      pendingCalls++;
      const received = await send(method, path, sent).finally(() => pendingCalls--);
      secrets.exchanged(path, sent ?? {}, received);
      // A release has the contract of its time.
      const isExempt = received.release || (sent?.mayCrash && received.text === CRASHED);
      if (!isExempt) checkContract(method, path, sent ?? {}, received);
      return received;
    },
    async logIn(login, password = login) {
      const credentials = { username: login, password };
      const { status, body } = await repeatWhileBusy(() =>
        gatehouse.call('POST', '/api/authenticate', { body: credentials }),
      );
      assert.equal(status, 200, `login of ${login}`);
      return body.id_token;
    },
    adminToken() {
      firstLogin ??= gatehouse.logIn('admin');
      return firstLogin;
    },
    async makeUser(login, fields = {}) {
      const token = await gatehouse.adminToken();
      const body = {
        login,
        email: `${login}@example.com`,
        password: login.padEnd(4, '.'),
        ...fields,
      };
      const created = await repeatWhileBusy(() =>
        gatehouse.call('POST', '/api/users', { token, body }),
      );
      assert.equal(created.status, 201, created.text);
      return created.body;
    },
    async lineOf({ headers }) {
      const id = `"requestId":"${headers['apigw-requestid']}"`;
      for (;;) {
        const line = lines.find((each) => each.includes(id));
        if (line) return JSON.parse(line);
        // It is written after the response.
        await wait(10);
      }
    },
    async mailsTo(address) {
      await cloud.mailsHandedOver();
      return cloud.mails.filter(({ to }) => to.includes(address));
    },
    async keyMailedTo(address) {
      // A mail of another kind can overtake the one with the key.
      const keys = (await gatehouse.mailsTo(address)).map(
        ({ text }) => /key=([\w-]+)/.exec(text)?.[1],
      );
      return keys.findLast(Boolean) ?? 'no key';
    },
    async assertNoViolations() {
      await cloud.mailsHandedOver();
      const printed = lines.splice(0);
      const [late, denied] = [cloud.lateCalls.splice(0), cloud.deniedCalls.splice(0)];
      onUnusedPermissions?.(cloud.unusedPermissions());
      if (checksPermissions && !breaksData) await expectIntact(gatehouse);
      assert.deepEqual(late, [], 'calls after the response');
      secrets.check(printed);
      if (checksPermissions)
        assert.deepEqual(denied, [], 'calls that the policies of the function do not allow');
    },
    async quiesce() {
      isQuiescing = true;
      do await wait(50);
      while (pendingCalls > 0);
      isQuiescing = false;
    },
    async stop() {
      running.delete(gatehouse);
      agent.destroy();
      await gatehouse
        .assertNoViolations()
        .finally(() => released?.stop())
        .finally(cloud.stop);
    },
  };
  running.add(gatehouse);
  return gatehouse;
}

/** As the functions of a release run beside new ones during a canary. */
function startBeside(
  cloud: Cloud,
  assembly: string,
  options: Omit<CloudOptions, 'assembly' | 'beside' | 'port'>,
): Promise<Cloud> {
  // The folder of the present stack, which ends last, keeps the state.
  const state = { ...options.state, close: () => undefined };
  return startCloud({ ...options, state, assembly, beside: cloud, port: 0 });
}

/**
 * Repeats a request that is answered with 503, after the time that the response names, as a client
 * would. On a slow machine, many changes at once run out of time.
 */
export async function repeatWhileBusy(send: () => Promise<Received>): Promise<Received> {
  for (;;) {
    const received = await send();
    if (received.status !== 503) return received;
    await wait(Number(received.headers['retry-after']) * 1000);
  }
}

const isChangeCount = ({ operation, input }: AwsCall): boolean =>
  operation === 'UpdateItem' && JSON.stringify(input.Key).includes('"CHANGES#');
const COUNTED: AwsResponse = { status: 200, body: { Attributes: { n: { N: '1' } } } };

function sender(agent: Agent, url: string): Gatehouse['call'] {
  return (method, path, { token, body, headers = {}, from, via = url } = {}) =>
    new Promise((resolve, reject) => {
      const { bytes, type } = encodedBody(path, body);
      const outgoing = request(via, {
        agent,
        method,
        ...(from && { localAddress: from }),
        // Separate from the URL, whose parser would resolve `%2e%2e` and repair malformed paths.
        path: path.replace(/[^\x21-\x7e]/gu, encodeURIComponent),
        headers: {
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(bytes && { 'Content-Type': type, 'Content-Length': bytes.length }),
          ...headers,
        },
      });
      outgoing.on('response', async (incoming) => {
        const chunks: Buffer[] = [];
        for await (const chunk of incoming) chunks.push(chunk);
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = /json/.test(incoming.headers['content-type'] ?? '');
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers as Record<string, string | undefined>,
          body: isJson && text ? JSON.parse(text) : undefined,
          text,
        });
      });
      outgoing.on('error', reject);
      outgoing.end(bytes);
    });
}

/** A body as it is sent to this path, and its media type. */
function encodedBody(path: string, body: unknown): { bytes?: Buffer; type: string } {
  const type = 'application/json';
  if (body === undefined) return { type };
  if (typeof body === 'string' || body instanceof Uint8Array)
    return { bytes: Buffer.from(body), type };
  if (path !== '/api/oauth2/token') return { bytes: Buffer.from(JSON.stringify(body)), type };
  const form = new URLSearchParams(body as Record<string, string>);
  return { bytes: Buffer.from(String(form)), type: 'application/x-www-form-urlencoded' };
}

/** The response of API Gateway to a request that no route matches. */
const UNKNOWN_ROUTE = '{"message":"Not Found"}';

/** The response of API Gateway when a function ends without one. */
const CRASHED = '{"message":"Internal Server Error"}';
