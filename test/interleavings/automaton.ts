import assert from 'node:assert/strict';
import { Failure } from '../../lib/contract/failure.ts';
import { isOutage } from '../../lib/runtime/outage.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { beginRun } from './determinism.ts';
import {
  type Asked,
  type Call,
  FIRST_ID,
  type Reply,
  type Request,
  textOf,
  type Waiting,
  waitingTable,
} from './worlds.ts';

/** Where a request stands after a history of replies: its calls, or how it has ended. */
export interface Node {
  readonly id: number;
  /** The replies to each of its earlier groups of parallel calls, of which some may still wait. */
  readonly history: readonly (readonly (Reply | undefined)[])[];
  /** What each of these groups has asked for. */
  readonly asked: readonly string[];
  readonly calls: readonly Call[];
  readonly outcome: Outcome | undefined;
  readonly next: Map<string, Node | undefined>;
}

/** How a request has ended. */
export interface Outcome {
  /** What its client sees: the result as JSON, or the code of the failure and its details. */
  readonly text: string;
  readonly kind: 'result' | 'failure' | 'unavailable' | 'defect';
}

let ids = 0;

const UNAVAILABLE = textOf({ code: 'unavailable' });

/** How many groups of replies a request waits for: more than any needs that makes progress. */
const REPLIES_MAX = 30;
/** Has retried without progress until its time was over. */
export const GAVE_UP: Outcome = { text: UNAVAILABLE, kind: 'unavailable' };

/**
 * The automaton of a request: the code runs once per history of replies, and is data from then on.
 */
export class Automaton {
  readonly #request: Request;
  /** A digit that distinguishes what the request draws from what others draw. */
  readonly #name: string;
  #root: Promise<Node> | undefined;

  constructor(name: string, request: Request) {
    this.#name = name;
    this.#request = request;
  }

  root(): Promise<Node> {
    this.#root ??= this.#nodeAfter([], []);
    return this.#root;
  }

  /**
   * Where the request stands after these replies to the calls of a node: undefined if it waits for
   * the others.
   */
  async after(node: Node, replies: readonly (Reply | undefined)[]): Promise<Node | undefined> {
    const unanswered = node.calls.filter((_, position) => !replies[position]);
    if (unanswered.length > 0 && !this.#request.readsAhead) return undefined;
    const name = replies.map((reply) => reply?.id).join();
    if (!node.next.has(name)) {
      const asked = [...node.asked, textOfCalls(node.calls)];
      const next = await this.#nodeAfter([...node.history, replies], asked);
      const goesOn = unanswered.length === 0 || next.calls.length > unanswered.length;
      node.next.set(name, goesOn ? next : undefined);
    }
    return node.next.get(name);
  }

  async #nodeAfter(history: Node['history'], asked: Node['asked']): Promise<Node> {
    beginRun(this.#name);
    const waiting: Waiting[] = [];
    let outcome: Outcome | undefined;
    this.#request.run(waitingTable(waiting, FIRST_ID * Number(this.#name))).then(
      (result) => {
        outcome = { text: textOf(result ?? null), kind: 'result' };
      },
      (error) => {
        outcome = outcomeOf(error);
      },
    );
    await idle();
    // Its time is over: the clock stands still.
    if (history.length > REPLIES_MAX)
      return { id: ids++, history, asked, calls: [], outcome: GAVE_UP, next: new Map() };
    for (const [at, replies] of history.entries()) {
      const group = waiting.splice(0);
      const isSame = textOfCalls(group.map(({ asked: call }) => call)) === asked[at];
      assert(isSame, `${this.#request.name}: its code keeps something from an earlier request.`);
      for (const [position, reply] of replies.entries()) {
        assert(
          this.#request.readsAhead || waiting.every(isReread),
          'A call is made before all parallel calls have ended.',
        );
        assert.equal(outcome, undefined, 'A response is sent before all calls have ended.');
        if (!reply) continue;
        group[position]?.answer(reply);
        await idle();
      }
      waiting.unshift(...group.filter((_, position) => !replies[position]));
    }
    const calls = waiting.map(({ asked }): Call => ({ ...asked, id: ids++, by: this.#request }));
    assert(outcome ? calls.length === 0 : calls.length > 0, 'A request waits for nothing.');
    return { id: ids++, history, asked, calls, outcome, next: new Map() };
  }
}

const textOfCalls = (calls: readonly Asked[]): string =>
  calls
    .map((call) => {
      if (call.operation === 'query') return call.pk;
      const keys = 'keys' in call ? call.keys : call.writes.map(({ key }) => key);
      return [call.operation, ...keys.map(nameOf)].join();
    })
    .join();

function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof Failure)) {
    // The endpoint responds with 503 to an outage, and with 500 to anything else.
    if (isOutage(error)) return { text: UNAVAILABLE, kind: 'unavailable' };
    return { text: error instanceof Error ? String(error.stack) : String(error), kind: 'defect' };
  }
  const { code, fieldErrors, retryAfter } = error;
  return {
    text: textOf({ code, fieldErrors, retryAfter }),
    kind: code === 'unavailable' ? 'unavailable' : 'failure',
  };
}

/** A session is read again, on which no parallel call depends: its reply can wait for theirs. */
const isReread = ({ asked }: Waiting): boolean =>
  asked.operation === 'get' && asked.keys[0].pk.startsWith('SESSION#');

/** Waits until the code under exploration waits for replies: it waits for nothing else. */
const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
