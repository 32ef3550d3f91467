import { AssertionError } from 'node:assert';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import type { Fault } from '../../../infra/local/aws/faults.ts';
import { findUser } from '../../../lib/users/user-table.ts';
import { expectIntact } from '../instance/intact.ts';
import { comparable, httpRequestFor } from '../instance/requests.ts';
import { type Command, requestFor, userCommands } from './commands.ts';
import {
  type Counterexample,
  linearize,
  type Operation,
  type Specification,
} from './linearizable.ts';
import { type ModelRequest, type ModelResponse, perform, type State } from './model.ts';
import { type Bench, IDS, START, UNKNOWN_ID } from './search-instance.ts';

/** The load of a recorded history. */
interface Load {
  readonly seed: number;
  readonly clients: number;
  /** The number of operations per client. */
  readonly operations: number;
  /** Whether transactions fail occasionally. */
  readonly faults: boolean;
}

type Users = State['users'];

/**
 * Runs concurrent clients that change the same few users, each with tokens of any of them. Returns
 * undefined if the history is linearizable and the table intact, or else a description of the
 * counterexample.
 */
export async function runHistory(bench: Bench, load: Load): Promise<string | undefined> {
  await bench.restore();
  try {
    const history = await record(bench, load).finally(() => {
      bench.faults.inject([]);
      bench.delay(async () => undefined);
    });
    const found = linearize(history, JSON.stringify(START.users), specification);
    if (found)
      return (
        `Seed ${load.seed}: no order explains this history of ${history.length} ` +
        `operations.\n${readable(found)}`
      );
    await expectIntact(bench.gatehouse);
    return undefined;
  } catch (error) {
    if (error instanceof AssertionError) return `Seed ${load.seed}: ${error.message}`;
    throw error;
  }
}

/** A request, with the number of endings of all sessions that its token states. */
type Sent = ModelRequest & { readonly sessionEndings: number };

const specification: Specification<Sent> = (text, request) => {
  const users: Users = JSON.parse(text);
  const callerSession = 'callerSession' in request ? request.callerSession : 'nobody';
  const ended = users[callerSession]?.sessionEndings !== request.sessionEndings;
  const sessions = { [callerSession]: { user: callerSession, ended } };
  const { response, state } = perform({ ...START, users, sessions }, request);
  const outcomes = [{ state: JSON.stringify(state.users), output: textOf(response) }];
  // The service reads the target and the caller in parallel, not atomically: a caller who gets 404
  // may have lost the right to the change just before, and changes nothing either way.
  const isRefused = response.status === 401 || response.status === 403;
  if (isRefused && request.do === 'update user' && !users[request.user]) {
    outcomes.push({ state: text, output: textOf({ status: 404, message: 'error.idnotfound' }) });
  }
  if (
    isRefused &&
    request.do === 'delete user' &&
    !Object.values(users).some((u) => u.login === request.login)
  ) {
    outcomes.push({ state: text, output: textOf({ status: 404, message: 'error.http.404' }) });
  }
  if (isRefused && request.do === 'read user') {
    const served = {
      ...START,
      users,
      sessions: { [callerSession]: { user: 'none', ended: false } },
    };
    outcomes.push({ state: text, output: textOf(perform(served, request).response) });
  }
  return outcomes;
};

async function record(
  bench: Bench,
  { seed, clients, operations, faults }: Load,
): Promise<Operation<Sent>[]> {
  const { gatehouse } = bench;
  const sample = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number, salt: number): T[] =>
    fc.sample(arbitrary, { seed: seed + salt, numRuns });
  const ids = new Map(IDS);
  const handles = new Map(IDS.slice(0, 3).map(([handle, id]) => [id, handle]));
  /**
   * The users as any client saw them last, so that most operations have existing targets and
   * authorized callers.
   */
  const seen = { ...START.users };
  const gone: string[] = [];
  const history: Operation<Sent>[] = [];
  let time = 0;

  if (faults) bench.faults.inject(faultsOf(sample(fc.nat(), 3 * clients * operations, clients)));
  const pauses = sample(fc.nat(8), 4096, clients + 1);
  bench.delay(() => wait(pauses[time % pauses.length]));

  async function perform(client: number, command: Command, name: string): Promise<void> {
    const request = {
      ...requestFor({ ...command, ifMatch: 'none' }, stateSeen(), name),
      firstName: undefined,
    } as ModelRequest;
    // The first name identifies an account whose creation got no response.
    if (request.do === 'create user') Object.assign(request, { firstName: name });
    const [method, path, body] = httpRequestFor(
      request,
      (handle) => ids.get(handle) ?? UNKNOWN_ID,
      () => '',
      () => '',
      () => '',
    );
    const callerId =
      'callerSession' in request ? (ids.get(request.callerSession) ?? UNKNOWN_ID) : 1;
    const { sessionEndings = 0 } = (await findUser(gatehouse.table, callerId)) ?? {};
    const token = await bench.token(callerId, 0, sessionEndings);
    const invoked = time++;
    const received = await gatehouse.call(method, path, { token, body, mayCrash: true });
    const returned = time++;
    const known = received.status < 500;
    const shown = received.body as { id: number; firstName: string } | undefined;
    if (received.status < 300 && shown) {
      const handle = handles.get(shown.id) ?? shown.firstName;
      handles.set(shown.id, handle);
      ids.set(handle, shown.id);
      seen[handle] = received.body;
      shown.id = handle as never;
    }
    if (request.do === 'delete user' && received.status < 300) {
      for (const [handle, { login }] of Object.entries(seen)) {
        if (login !== request.login) continue;
        gone.push(handle);
        delete seen[handle];
      }
    }
    const output = textOf(
      comparable(received, { status: received.status, body: {} }) as ModelResponse,
    );
    history.push({
      client,
      invoked,
      returned: known ? returned : Number.POSITIVE_INFINITY,
      input: { ...request, sessionEndings },
      output,
    });
  }

  function stateSeen(): State {
    const callers = [...Object.keys(seen), ...gone.slice(-1)];
    const sessions = Object.fromEntries(callers.map((user) => [user, { user, ended: false }]));
    return { ...START, users: seen, sessions };
  }

  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      // Clients share their commands in pairs, as by double clicks: chance alone would rarely make
      // them conflict.
      for (const [index, command] of sample(userCommands, operations, client >> 1).entries()) {
        await perform(client, command, `u${client}-${index}`);
      }
    }),
  );
  return history;
}

const CHANGES = ['POST /api/users', 'PUT /api/users', 'DELETE /api/users/{login}'];
const ITEMS = ['LOGIN#*', 'EMAIL#*', 'ADMINS/*'];
const FAULTS = ['conflict', 'error-before', 'error-after', 'lost', 'reset'] as const;

/**
 * Leaves most transactions alone; some fail, and a few crash the function or lose several responses
 * in a row.
 */
function faultsOf(numbers: readonly number[]) {
  return numbers.flatMap((number, index) => {
    const rulesFor = (fault: Fault, times = 1) =>
      Array.from({ length: times }, (_, further) => ({
        operation: 'TransactWriteItems',
        function: CHANGES[index % CHANGES.length] as string,
        nth: Math.floor(index / CHANGES.length) + further + 1,
        fault,
      }));
    // Conflicts are injected only on ITEMS: a conflict on the caller's own item could never be
    // mistaken for a violated rule.
    const item = ITEMS[number % ITEMS.length] as string;
    if (number % 9 === 3)
      return rulesFor('conflict').map((rule) => ({
        ...rule,
        item,
        nth: 1 + Math.floor(rule.nth / 4),
      }));
    if (number % 200 === 0) return rulesFor('kill');
    if (number % 40 === 1) return rulesFor('lost', 6);
    return number % 15 === 2 ? rulesFor(FAULTS[number % FAULTS.length] as Fault) : [];
  });
}

/** A response as text, with sorted fields. */
function textOf({ status, message, version, body }: ModelResponse): string {
  const fields = Object.entries(body ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return [status, message, version && `version ${version}`, body && JSON.stringify(fields)]
    .filter(Boolean)
    .join(' ');
}

function readable({ order, state, next }: Counterexample<ModelRequest>): string {
  const line = ({ client, invoked, returned, input, output }: Operation<ModelRequest>) =>
    `  client ${client}, ${invoked} to ${returned}: ${JSON.stringify(input)}\n    ${output}`;
  return [
    `After ${order.length} operations, the last of which are`,
    ...order.slice(-8).map(line),
    `the users are ${state}`,
    'and none of these can come next:',
    ...next.map(line),
  ].join('\n');
}
