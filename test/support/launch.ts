import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import type { Mail } from '../../infra/local/aws/mailbox.ts';
import { type Cloud, type CloudOptions, startCloud } from '../../infra/local/cloud.ts';
import { createFirstAccounts, operatorsTable } from '../../infra/local/first-accounts.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import type { FailureCode } from '../../lib/contract/failure.ts';
import { shownAs } from '../../lib/http/problem.ts';
import type { Table } from '../../lib/table/table.ts';
import { type Route, routes } from '../../routes.ts';
import { canaries } from './canaries.ts';
import { expectIntact } from './intact.ts';

/** What a test sends, beyond method and path. */
export interface Sent {
  readonly token?: string | undefined;
  /** Sent as JSON, unless it is a string or bytes: those go as they are. */
  readonly body?: unknown;
  readonly headers?: Record<string, string | string[]>;
  /** The address of the loopback network that it comes from; 127.0.0.1 unless said. */
  readonly from?: string;
  /** The function may be killed meanwhile: then it is API Gateway that answers. */
  readonly mayCrash?: boolean;
}

/** What came back; `body` is the parsed JSON, or undefined when there was none. */
export interface Received {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape, and fail when one is another
  readonly body: any;
  readonly text: string;
}

/** Gatehouse on this machine, with the accounts admin and user, its data in memory. */
export interface Gatehouse {
  readonly cloud: Cloud;
  /** The table behind it, to look at. */
  readonly table: Table;
  /** The lines that its functions have printed. */
  readonly lines: readonly string[];
  /** Sends a request, and checks the answer against the contract of its row. */
  call(method: string, path: string, sent?: Sent): Promise<Received>;
  /** A token for an account. */
  logIn(login: string, password?: string): Promise<string>;
  /** A new account made by admin, its password its login, filled up with dots to four. */
  makeUser(login: string, fields?: Record<string, unknown>): Promise<Received['body']>;
  /** The mails to an address, the oldest first. */
  mailsTo(address: string): Mail[];
  /** The key in the last mail to an address. */
  keyMailedTo(address: string): string;
  /** Fails unless the table is intact and all went as it must since the last time. */
  judge(): Promise<void>;
  /** Rejects all calls until those under way have ended, so that a test that has timed out ends too. */
  quiesce(): Promise<void>;
  /** Judges, and ends it. */
  stop(): Promise<void>;
}

/** Which stack, what stands around its calls, and whether it is held to its rights and to an intact table: mutants are not. */
export interface Launch
  extends Pick<CloudOptions, 'assembly'>,
    Partial<Pick<CloudOptions, 'intercept' | 'holdTransactions' | 'meterCapacity'>> {
  readonly heldToRows?: boolean;
  /** Its tests write what no function would: the table need not be intact at the end. */
  readonly breaksData?: boolean;
  /** Told, whenever it is judged, what its functions may do and have not done so far. */
  readonly onUnusedRights?: (rights: readonly string[]) => void;
}

// That is how the runner ends its workers; only an exit takes the engines along.
process.once('SIGTERM', () => process.exit());

/** Starts Gatehouse. Without vitest, so that a long run can do without it too. */
export async function launch({
  heldToRows = true,
  breaksData = false,
  onUnusedRights,
  ...options
}: Launch): Promise<Gatehouse> {
  const lines: string[] = [];
  const state = openMemoryState();
  const secrets = canaries();
  const cloud = await startCloud({
    port: 0,
    onEnd: (reason) => lines.push(`The engine has ended. ${reason}`),
    ...options,
    async intercept(call, make) {
      const answer = await (options.intercept ? options.intercept(call, make) : make());
      secrets.called(call, answer);
      return answer;
    },
    state,
    onLine: (line) => lines.push(line),
  });
  await createFirstAccounts(cloud, state);
  // Connections that lie idle end here before they end there, in the middle of the next request.
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 20_000 });
  const send = sender(agent, cloud.url);

  let adminToken: string | undefined;
  let underWay = 0;
  let isQuiescing = false;
  const gatehouse: Gatehouse = {
    cloud,
    table: operatorsTable(cloud),
    lines,
    async call(method, path, sent) {
      if (isQuiescing) throw new Error('The test that calls has ended');
      underWay++;
      const received = await send(method, path, sent).finally(() => underWay--);
      secrets.exchanged(method, path, sent ?? {}, received);
      if (!(sent?.mayCrash && received.text === CRASHED)) keepsContract(method, path, received);
      return received;
    },
    async logIn(login, password = login) {
      const { status, body } = await gatehouse.call('POST', '/api/authenticate', {
        body: { username: login, password },
      });
      assert.equal(status, 200, `login of ${login}`);
      return body.id_token;
    },
    async makeUser(login, fields = {}) {
      adminToken ??= await gatehouse.logIn('admin');
      const token = adminToken;
      const body = { login, email: `${login}@example.com`, password: login.padEnd(4, '.'), ...fields };
      const created = await gatehouse.call('POST', '/api/users', { token, body });
      assert.equal(created.status, 201, created.text);
      return created.body;
    },
    mailsTo: (address) => cloud.mails.filter(({ to }) => to.includes(address)),
    keyMailedTo: (address) => /key=([\w-]+)/.exec(gatehouse.mailsTo(address).at(-1)?.text ?? '')?.[1] ?? 'no key',
    async judge() {
      const printed = lines.splice(0);
      const [late, refused] = [cloud.lateCalls.splice(0), cloud.deniedCalls.splice(0)];
      onUnusedRights?.(cloud.unusedPermissions());
      if (heldToRows && !breaksData) await expectIntact(gatehouse);
      assert.deepEqual(late, [], 'calls after the answer');
      secrets.check(printed);
      if (heldToRows) assert.deepEqual(refused, [], 'calls that the policies of the function do not allow');
    },
    async quiesce() {
      isQuiescing = true;
      do await wait(50);
      while (underWay > 0);
      isQuiescing = false;
    },
    async stop() {
      agent.destroy();
      await gatehouse.judge().finally(cloud.stop);
    },
  };
  return gatehouse;
}

function sender(agent: Agent, url: string): Gatehouse['call'] {
  return (method, path, { token, body, headers = {}, from } = {}) =>
    new Promise((resolve, reject) => {
      const raw = typeof body === 'string' || body instanceof Uint8Array;
      const bytes = body === undefined ? undefined : Buffer.from(raw ? body : JSON.stringify(body));
      const outgoing = request(url, {
        agent,
        method,
        ...(from && { localAddress: from }),
        // Not as part of the address: that would resolve `%2e%2e` and mend what tests spoil.
        path: path.replace(/[^\x21-\x7e]/gu, encodeURIComponent),
        headers: {
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(bytes && { 'Content-Type': 'application/json', 'Content-Length': bytes.length }),
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

/** What API Gateway says when a function has ended without an answer. */
const CRASHED = '{"message":"Internal Server Error"}';

/** What comes to no function: an escape that is none, and more than 10 KB of headers. */
const REFUSED_BY_API_GATEWAY = ['{"message":"Bad Request"}', '{"message":"Request Header Fields Too Large"}'];

/** What every row can refuse. */
const ALWAYS: FailureCode[] = [
  'unauthorized',
  'forbidden',
  'malformed',
  'invalid',
  'too-large',
  'unsupported-media-type',
  'unavailable',
];

/** Whatever a test looks at, the answer is one that the contract of its row names. */
function keepsContract(method: string, path: string, { status, body, headers, text }: Received): void {
  const route = routeOf(method, path);
  if (!route || REFUSED_BY_API_GATEWAY.includes(text)) return;
  const { contract, handler } = route;
  const where = `${method} ${path} answered ${status} ${text}`;
  isKeptByNobody(headers, where, status === 200 && handler === 'publish-keys');
  if (status < 300) {
    if (contract.response) v.parse(contract.response, body);
    else assert.equal(text, '', where);
    return;
  }
  assert.equal(headers['content-type'], 'application/problem+json; charset=utf-8', where);
  const shown = [...ALWAYS, ...(contract.failures ?? [])].map(shownAs);
  assert(
    shown.some((each) => each.status === status && each.message === body.message),
    where,
  );
  assert.deepEqual([body.status, typeof body.title, typeof body.path], [status, 'string', 'string'], where);
}

/** Whatever the status, a browser may neither keep an answer nor make anything of it; the public keys may be kept. */
export function isKeptByNobody(headers: Received['headers'], where: string, mayBeKept = false): void {
  const wanted = {
    'cache-control': mayBeKept ? 'public, max-age=300' : 'no-store',
    'x-content-type-options': 'nosniff',
    'strict-transport-security': 'max-age=63072000; includeSubDomains',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
  };
  assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((name) => [name, headers[name]])), wanted, where);
}

function routeOf(method: string, path: string): Route | undefined {
  const segments = path.split('?')[0]?.split('/') ?? [];
  const candidates = routes.filter(({ route }) => {
    const [routeMethod, routePath = ''] = route.split(' ');
    const pattern = routePath.split('/');
    return (
      routeMethod === method &&
      pattern.length === segments.length &&
      pattern.every((part, index) => (part.startsWith('{') ? segments[index] !== '' : segments[index] === part))
    );
  });
  return candidates.find(({ route }) => !route.includes('{')) ?? candidates[0];
}
