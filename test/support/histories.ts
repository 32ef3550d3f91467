import { AssertionError } from 'node:assert';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import type { Fault } from '../../infra/local/aws/faults.ts';
import { type Bench, IDS, NONE, START } from './bench.ts';
import { actOf, type Command, userCommands } from './commands.ts';
import { expectIntact } from './intact.ts';
import { type Counterexample, linearize, type Operation, type Specification } from './linearizable.ts';
import { type Act, type Answer, perform, type State } from './model.ts';
import { answered, requestOf } from './requests.ts';

/** How many clients do how much at the same time, and whether the table fails them now and then. */
export interface Crowd {
  readonly seed: number;
  readonly clients: number;
  /** Of each client. */
  readonly operations: number;
  readonly faults: boolean;
}

type Users = State['users'];

/**
 * Clients who change the same few users at the same time, each on behalf of whichever of these users it likes. Undefined
 * if one order of all that they did explains all their answers, and the table is intact; else what does not fit.
 */
export async function runHistory(bench: Bench, crowd: Crowd): Promise<string | undefined> {
  await bench.putBack();
  try {
    const history = await record(bench, crowd).finally(() => {
      bench.faults.inject([]);
      bench.delay(async () => undefined);
    });
    const found = linearize(history, JSON.stringify(START.users), specification);
    if (found) return `Seed ${crowd.seed}: no order explains this history of ${history.length}.\n${readable(found)}`;
    await expectIntact(bench.gatehouse);
    return undefined;
  } catch (error) {
    if (error instanceof AssertionError) return `Seed ${crowd.seed}: ${error.message}`;
    throw error;
  }
}

/** The model, on behalf of a caller whose token is good. */
const specification: Specification<Act> = (text, act) => {
  const users: Users = JSON.parse(text);
  const by = 'by' in act ? act.by : 'nobody';
  const sessions = { [by]: { user: by, stale: false } };
  const { answer, state } = perform({ ...START, users, sessions }, act);
  const outcomes = [{ state: JSON.stringify(state.users), output: textOf(answer) }];
  // The target is looked up beside the caller, not in the same moment. Who is told that it is not there has changed
  // nothing, and may have lost the right to do so a moment earlier.
  if (answer.status === 403 && act.do === 'update user' && !users[act.user]) {
    outcomes.push({ state: text, output: textOf({ status: 404, message: 'error.idnotfound' }) });
  }
  if (answer.status === 403 && act.do === 'delete user' && !Object.values(users).some((u) => u.login === act.login)) {
    outcomes.push({ state: text, output: textOf({ status: 404, message: 'error.http.404' }) });
  }
  return outcomes;
};

async function record(bench: Bench, { seed, clients, operations, faults }: Crowd): Promise<Operation<Act>[]> {
  const { gatehouse } = bench;
  const sample = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number, salt: number): T[] =>
    fc.sample(arbitrary, { seed: seed + salt, numRuns });
  const ids = new Map(IDS);
  const handles = new Map(IDS.slice(0, 3).map(([handle, id]) => [id, handle]));
  /** What any of the clients has seen last: they ask for what there may be, mostly as somebody who may. */
  const seen = { ...START.users };
  const gone: string[] = [];
  const history: Operation<Act>[] = [];
  let time = 0;

  if (faults) bench.faults.inject(faultsOf(sample(fc.nat(), 3 * clients * operations, clients)));
  const pauses = sample(fc.nat(8), 4096, clients + 1);
  bench.delay(() => wait(pauses[time % pauses.length]));

  async function perform(client: number, command: Command, name: string): Promise<void> {
    const act = { ...actOf({ ...command, ifMatch: 'none' }, seenBy(), name), firstName: undefined } as Act;
    // By its first name an account is known again whose creation nobody was told of.
    if (act.do === 'create user') Object.assign(act, { firstName: name });
    const [method, path, body] = requestOf(
      act,
      (handle) => ids.get(handle) ?? NONE,
      () => '',
    );
    const token = await bench.token('by' in act ? (ids.get(act.by) ?? NONE) : 1);
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
    if (act.do === 'delete user' && received.status < 300) {
      for (const [handle, { login }] of Object.entries(seen)) {
        if (login !== act.login) continue;
        gone.push(handle);
        delete seen[handle];
      }
    }
    const output = textOf(answered(received, { status: received.status, body: {} }) as Answer);
    history.push({ client, invoked, returned: known ? returned : Number.POSITIVE_INFINITY, input: act, output });
  }

  function seenBy(): State {
    const callers = [...Object.keys(seen), ...gone.slice(-1)];
    const sessions = Object.fromEntries(callers.map((user) => [user, { user, stale: false }]));
    return { ...START, users: seen, sessions };
  }

  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      // Two and two want the same, as by double clicks: chance alone would seldom have them meet on one user.
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

/** Of the transactions of each function: mostly nothing; now and then a fault, seldom the end of the function, or several lost answers in a row. */
function faultsOf(dice: readonly number[]) {
  return dice.flatMap((die, index) => {
    const strike = (fault: Fault, times = 1) =>
      Array.from({ length: times }, (_, further) => ({
        operation: 'TransactWriteItems',
        function: CHANGES[index % CHANGES.length] as string,
        nth: Math.floor(index / CHANGES.length) + further + 1,
        fault,
      }));
    // A conflict about the caller alone would never be taken for a broken rule.
    const item = ITEMS[die % ITEMS.length] as string;
    if (die % 9 === 3) return strike('conflict').map((rule) => ({ ...rule, item, nth: 1 + Math.floor(rule.nth / 4) }));
    if (die % 200 === 0) return strike('kill');
    if (die % 40 === 1) return strike('lost', 6);
    return die % 15 === 2 ? strike(FAULTS[die % FAULTS.length] as Fault) : [];
  });
}

/** An answer as a text, its fields in one order. */
function textOf({ status, message, version, body }: Answer): string {
  const fields = Object.entries(body ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return [status, message, version && `version ${version}`, body && JSON.stringify(fields)].filter(Boolean).join(' ');
}

function readable({ order, state, next }: Counterexample<Act>): string {
  const line = ({ client, invoked, returned, input, output }: Operation<Act>) =>
    `  client ${client}, ${invoked} to ${returned}: ${JSON.stringify(input)}\n    ${output}`;
  return [
    `After ${order.length}, the last of which are`,
    ...order.slice(-8).map(line),
    `the users are ${state}`,
    'and none of these can come next:',
    ...next.map(line),
  ].join('\n');
}
