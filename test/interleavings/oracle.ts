import { verifyTable } from '../../lib/operations/integrity/verify-table.ts';
import type { Item } from '../../lib/table/table.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { inMemoryScanner } from '../support/doubles/memory-table.ts';
import { GAVE_UP, type Node } from './automaton.ts';
import { openedValue, withoutCounts } from './determinism.ts';
import {
  begun,
  type Explored,
  isFinal,
  isInDoubt,
  movesIn,
  type State,
  stateAfter,
} from './state.ts';
import { type Engine, itemsOf, textOf, type World } from './worlds.ts';

/* What is right at the end of a scenario. */

/** One attempt of a request that may have taken effect. */
interface Execution {
  readonly process: number;
  readonly attempt: 0 | 1;
  /** What its client sees; undefined if it sees nothing of it. */
  readonly outcome: string | undefined;
}

/** The results of all requests in one order, without faults. */
interface Sequential {
  readonly outcomes: readonly string[];
  readonly seen: string;
}

/** An order that was tried, and what it gives. */
interface Tried extends Sequential {
  readonly order: readonly Execution[];
}

/**
 * Judges final states: no request ended in a defect, retried in vain or gave up without a reason,
 * no rule that spans items is broken, and some order of the requests, one after the other, has the
 * same responses and leaves the same behind. A request without a response counts at any place of
 * that order, or not at all, and an application of a plan that was declined need not count.
 */
export class Oracle {
  readonly #requests: readonly Explored[];
  readonly #engine: Engine;
  readonly #start: World;
  readonly #mayGiveUp: boolean;
  readonly #findings = new Map<number, string | undefined>();
  readonly #orders = new Map<string, Sequential>();
  readonly #verdicts = new Map<string, string | undefined>();

  /** `engine` evaluates conditions as they are written. */
  constructor(requests: readonly Explored[], engine: Engine, start: World, mayGiveUp = false) {
    this.#mayGiveUp = mayGiveUp;
    this.#requests = requests;
    this.#engine = engine;
    this.#start = start;
  }

  /** What is wrong with a final state, or undefined. */
  async violation(state: State): Promise<string | undefined> {
    const gaveUp = this.#mayGiveUp ? undefined : givenUp(state);
    if (gaveUp) return gaveUp;
    const executions = executionsIn(state);
    const name = textOf([state.world.id, executions]);
    if (!this.#verdicts.has(name)) this.#verdicts.set(name, await this.#judge(state, executions));
    return this.#verdicts.get(name);
  }

  async #judge(state: State, executions: readonly Execution[]): Promise<string | undefined> {
    const defect = state.processes.find(({ node }) => node?.outcome?.kind === 'defect');
    if (defect) return `a request fails with ${defect.node?.outcome?.text}`;
    const finding = await this.#finding(state.world);
    if (finding) return finding;
    const seen = seenIn(state.world);
    const tried: Tried[] = [];
    const hasChanged = seen !== seenIn(this.#start);
    const mayBeAbsent = ({ process, outcome }: Execution) =>
      outcome === undefined ||
      (outcome === DECLINED && hasChanged && this.#requests[process]?.mayDecline === true);
    for (const order of ordersOf(executions, mayBeAbsent)) {
      const sequential = await this.#inOrder(order);
      const isSame =
        sequential.seen === seen &&
        order.every(({ outcome }, at) => explains(sequential.outcomes[at] as string, outcome));
      if (isSame) return undefined;
      tried.push({ ...sequential, order });
    }
    return unexplained(this.#requests, seen, tried);
  }

  async #finding(world: World): Promise<string | undefined> {
    if (!this.#findings.has(world.id)) {
      const { findings } = await verifyTable(inMemoryScanner(itemsOf(world)));
      this.#findings.set(world.id, findings[0]?.message);
    }
    return this.#findings.get(world.id);
  }

  async #inOrder(order: readonly Execution[]): Promise<Sequential> {
    const name = order.map(({ process, attempt }) => `${process}.${attempt}`).join();
    let known = this.#orders.get(name);
    if (!known) {
      let world = this.#start;
      const outcomes: string[] = [];
      for (const { process, attempt } of order) {
        const request = this.#requests[process] as Explored;
        const ended = await alone(request, attempt, world, this.#engine);
        outcomes.push(ended.outcome);
        world = ended.world;
      }
      known = { outcomes, seen: seenIn(world) };
      this.#orders.set(name, known);
    }
    return known;
  }
}

/**
 * Whether an outcome without interruption explains what a client sees, which is undefined if it
 * sees nothing. A request that its caller must not make any more is refused, as is a log-in with an
 * ID token that was used; which of the reasons it states is left open, because it reads its caller,
 * or the use of its token, before the rest.
 */
function explains(sequential: string, seen: string | undefined): boolean {
  if (seen === undefined || seen === sequential) return true;
  return REFUSED.has(sequential) && seen.startsWith('{"code":');
}
const DECLINED = textOf({ code: 'version-changed' });
const REFUSED = new Set(
  ['invalid-token', 'forbidden', 'invalid-grant'].map((code) => textOf({ code })),
);

/** Only a lost call is a reason to be unavailable: after anything else, a change is tried again. */
function givenUp({ processes }: State): string | undefined {
  const failed = processes
    .flatMap(({ node }) => node ?? [])
    .filter(({ outcome }) => outcome?.kind === 'unavailable');
  if (failed.some(({ outcome }) => outcome === GAVE_UP))
    return 'a request retries without progress';
  const isExcused = ({ history }: Node) => history.flat().some((reply) => reply?.isLost);
  return failed.every(isExcused) ? undefined : 'a request gives up that could be retried';
}

function executionsIn({ processes }: State): Execution[] {
  return processes.flatMap((state, process) => {
    const { node, attempt } = state;
    const outcome = isInDoubt(state) ? undefined : withoutCounts(node?.outcome?.text as string);
    const last: Execution = { process, attempt, outcome };
    return attempt === 0 ? [last] : [{ process, attempt: 0, outcome: undefined }, last];
  });
}

/** All orders of executions, with and without those that may be absent. */
function ordersOf(
  executions: readonly Execution[],
  mayBeAbsent: (execution: Execution) => boolean,
): Execution[][] {
  const [first, ...others] = executions;
  if (!first) return [[]];
  return ordersOf(others, mayBeAbsent).flatMap((order) => [
    ...Array.from({ length: order.length + 1 }, (_, at) => order.toSpliced(at, 0, first)),
    ...(mayBeAbsent(first) ? [order] : []),
  ]);
}

/** Runs a request without interruption. */
async function alone(request: Explored, attempt: 0 | 1, start: World, engine: Engine) {
  const processes = [await begun(request, attempt)];
  let state: State = { world: start, processes, underWay: [], faultsLeft: 0 };
  while (!isFinal(state)) {
    const [move] = movesIn(state);
    if (!move) throw new Error('A request waits for nothing');
    state = await stateAfter(state, move, { engine, requests: [request] });
  }
  const { world, processes: ended } = state;
  return { world, outcome: withoutCounts(ended[0]?.node?.outcome?.text as string) };
}

const seenTexts = new WeakMap<World, string>();

/** What later requests can see of a table: everything but values that are random. */
function seenIn(world: World): string {
  let text = seenTexts.get(world);
  if (text === undefined) {
    text = itemsOf(world)
      .map((item) => withoutCounts(textOf(visible(item))))
      .sort()
      .join('\n');
    seenTexts.set(world, text);
  }
  return text;
}

/** Equal values are sealed differently each time. */
const visible = (item: Item): Item =>
  item.pk === 'CONF' ? { ...item, confValue: openedValue(item) } : item;

/** The first line of a violation of the order. */
export const UNEXPLAINED = 'no order of the requests has these responses and leaves this behind.';

/** Says which order comes nearest to what has happened, and how that differs from it. */
function unexplained(requests: readonly Explored[], seen: string, tried: readonly Tried[]): string {
  const nameOfRequest = ({ process }: Execution) => (requests[process] as Explored).name;
  const [nearest] = tried
    .map(({ order, outcomes, seen: expected }) => ({
      order: order.map(nameOfRequest).join(', then '),
      lines: [
        ...order
          .filter(({ outcome }, at) => !explains(outcomes[at] as string, outcome))
          .map((each) => {
            const inOrder = outcomes[order.indexOf(each)];
            return `${nameOfRequest(each)}: ${differences(each.outcome, inOrder)}`;
          }),
        ...differentItems(seen.split('\n'), expected.split('\n')),
      ],
    }))
    .sort((one, other) => one.lines.length - other.lines.length);
  return [
    UNEXPLAINED,
    `The nearest is: ${nearest?.order}. It differs in`,
    ...(nearest?.lines ?? []).map((line) => `  ${line}`),
  ].join('\n');
}

function differentItems(items: readonly string[], expected: readonly string[]): string[] {
  const more = items.filter((item) => !expected.includes(item));
  const less = expected.filter((item) => !items.includes(item));
  const nameIn = (item: string) => nameOf(JSON.parse(item));
  return [...new Set([...more, ...less].map(nameIn))].map((name) => {
    const ofName = (item: string) => nameIn(item) === name;
    return `${name}: ${differences(more.find(ofName), less.find(ofName))}`;
  });
}

/** What differs between two values in JSON, of which one can be absent. */
function differences(actual: string | undefined, expected: string | undefined): string {
  if (actual === undefined || expected === undefined)
    return actual === undefined ? `absent instead of ${expected}` : `${actual} instead of absent`;
  const [one, other] = [JSON.parse(actual), JSON.parse(expected)];
  const areObjects = [one, other].every((each) => typeof each === 'object' && each !== null);
  if (!areObjects || 'code' in one || 'code' in other) return `${actual} instead of ${expected}`;
  return [...new Set([...Object.keys(one), ...Object.keys(other)])]
    .filter((name) => textOf([one[name]]) !== textOf([other[name]]))
    .map((name) => `${name} ${textOf(one[name])} instead of ${textOf(other[name])}`)
    .join(', ');
}
