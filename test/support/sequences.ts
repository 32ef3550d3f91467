import assert from 'node:assert/strict';
import fc from 'fast-check';
import { entityKey, type Kind } from '../../lib/table/keys.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { type Bench, IDS, NONE, START } from './bench.ts';
import { actOf, type Step, steps, type TransactionFault } from './commands.ts';
import { expectIntact } from './intact.ts';
import type { Received } from './launch.ts';
import { type Act, listsOf, perform, type State } from './model.ts';
import { comparable, requestOf, withoutDates } from './requests.ts';

/** The extent of a search for counterexamples. */
interface Search {
  readonly seed: number;
  /** The fast-check path of a sequence of this seed, as a counterexample reports it. */
  readonly path?: string;
  /** The number of sequences. */
  readonly runs: number;
  /** A time limit in milliseconds. */
  readonly atMost?: number;
  /** Whether to shrink the first counterexample; true unless set. */
  readonly shrink?: boolean;
}

/**
 * Compares the service with the model for random sequences of all changes: every response, the lists after each step,
 * and whether the table is intact. Returns the shortest sequence found to differ, with its seed, or undefined.
 */
export async function runSequences(
  bench: Bench,
  { seed, path, runs, atMost, shrink = true }: Search,
): Promise<string | undefined> {
  const property = fc.asyncProperty(steps, (sequence) => runSequence(bench, sequence));
  const details = await fc.check(property, {
    seed,
    numRuns: runs,
    endOnFailure: !shrink,
    ...(path !== undefined && { path }),
    ...(atMost !== undefined && { interruptAfterTimeLimit: atMost }),
  });
  if (!details.failed) return undefined;
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : '';
  return `${fc.defaultReportMessage(details)}\n${reason}`;
}

/** Runs one sequence and fails where the service and the model differ. */
async function runSequence(bench: Bench, sequence: readonly Step[]): Promise<void> {
  await bench.putBack();
  const { run } = startRun(bench);
  let state = START;
  for (const [index, step] of sequence.entries()) state = await run(state, step, `${index + 1}`);
}

/** Begins a run from START, which takes one step or several concurrent acts at a time. */
export function startRun(bench: Bench) {
  const { gatehouse, gate, faults } = bench;
  // The ids, tokens and keys of the service by the handles of the model.
  const ids = new Map(IDS);
  const tokens = new Map<string, string>();
  const keys = new Map<string, string>();
  const idOf = (handle: string): number => ids.get(handle) ?? NONE;

  /** Replaces handles by ids. */
  function withIds(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withIds);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, name === 'id' ? idOf(each as string) : withIds(each)]),
    );
  }

  async function send(act: Act): Promise<Received> {
    const [method, path, body] = requestOf(act, idOf, (key) => keys.get(key) ?? 'none');
    const version = 'version' in act ? act.version : undefined;
    const received = await gatehouse.call(method, path, {
      token: await tokenOf('by' in act ? act.by : 'admin'),
      body,
      ...(version !== undefined && { headers: { 'If-Match': await etagOf(act, version) } }),
    });
    if (received.status === 201 && 'as' in act) ids.set(act.as, received.body.id);
    if (act.do === 'log in' && received.status === 200) tokens.set(act.as, received.body.id_token);
    return received;
  }

  /** The token of a session; START has one session per user. */
  async function tokenOf(session: string): Promise<string> {
    const token = tokens.get(session) ?? (await bench.token(idOf(session)));
    tokens.set(session, token);
    return token;
  }

  /** The ETag of the target of an act if it has this version, or an ETag that no entity has. */
  async function etagOf(act: Act, count: number): Promise<string> {
    const { table } = gatehouse;
    const find = (kind: Kind, handle: string) => table.get(entityKey(kind, idOf(handle)));
    const entity =
      'parameter' in act
        ? await find('CONF', act.parameter)
        : 'integration' in act
          ? await find('INTEGRATION', act.integration)
          : 'user' in act
            ? await find('USER', act.user)
            : 'login' in act && (await findUserByLogin(table, act.login));
    const version = String((entity || undefined)?.version);
    return `"${Number.parseInt(version, 10) === count ? version : `${count}-none`}"`;
  }

  /** Remembers the key in the last mail to this user. */
  function readKey(handle: string, { users, keys: known }: State): void {
    keys.set(handle, gatehouse.keyMailedTo(users[known[handle]?.user ?? '']?.email ?? ''));
  }

  /** Reads the lists as a caller who may read all of them. */
  async function readLists(state: State) {
    const [reader, { passwordChanges }] = Object.entries(state.users).find(
      ([, { activated, authorities }]) => activated && authorities.includes('ROLE_ADMIN'),
    ) as [string, State['users'][string]];
    const token = await bench.token(idOf(reader), passwordChanges);
    const list = async (path: string) => {
      const { body } = await gatehouse.call('GET', path, { token });
      return body.map(withoutDates);
    };
    const [users, integrations, parameters] = await Promise.all([
      list('/api/users?size=2000'),
      list('/api/utm-integrations?size=2000'),
      list('/api/utm-integration-confs?size=100'),
    ]);
    return { users, integrations, parameters };
  }

  async function run(state: State, { commands, ...timing }: Step, name: string): Promise<State> {
    const acts = commands.map((command, index) => actOf(command, state, `${name}${'ab'[index]}`));
    return atOnce(state, acts, timing, name);
  }

  /** Runs acts concurrently and requires the responses and the state of one sequential order. */
  async function atOnce(
    state: State,
    acts: readonly Act[],
    { inTurn, transactionFault }: Pick<Step, 'inTurn' | 'transactionFault'>,
    name: string,
  ): Promise<State> {
    faults.inject(transactionFault ? faultRulesOf(transactionFault) : []);
    if (acts.length > 1) gate.raise(acts.length, inTurn);
    const responses = await Promise.all(acts.map((act) => send(act).finally(gate.lift)));
    faults.inject([]);

    const exchanges = acts.map((act, index) => [act, responses[index] as Received] as const);
    const orders = exchanges.length > 1 ? [exchanges, exchanges.toReversed()] : [exchanges];
    const failures: unknown[] = [];
    for (const order of orders) {
      try {
        let after = state;
        for (const [act, received] of order) {
          const expected = perform(after, act);
          assert.deepEqual(comparable(received, expected.response), withIds(expected.response), textOf(act));
          after = expected.state;
        }
        assert.deepEqual(byId(await readLists(after)), byId(withIds(listsOf(after)) as Lists), 'what the lists show');
        await expectIntact(gatehouse);
        for (const handle of Object.keys(after.keys)) if (!keys.has(handle)) readKey(handle, after);
        return after;
      } catch (failure) {
        failures.push(failure);
      }
    }
    const all = failures.map((failure) => (failure as Error).message).join('\nand in the other order\n');
    throw new Error(`Step ${name}: ${acts.map(textOf).join(' and ')}\n${all}`);
  }

  return { run, atOnce };
}

type Lists = Record<string, { id: number }[]>;
const byId = (lists: Lists) =>
  Object.fromEntries(Object.entries(lists).map(([kind, list]) => [kind, list.toSorted((a, b) => a.id - b.id)]));

const textOf = (act: Act): string => JSON.stringify(act);

function faultRulesOf({ fault, item, times }: TransactionFault) {
  return Array.from({ length: times }, (_, index) => ({
    operation: 'TransactWriteItems',
    fault,
    nth: index + 1,
    ...(item && { item }),
  }));
}
