import type { Item } from '../../lib/table/table.ts';
import { itemsIn } from '../support/doubles/memory-engine.ts';
import { Automaton } from './automaton.ts';
import { brokenBy } from './commits.ts';
import { explore, type Seen } from './explore.ts';
import { Oracle } from './oracle.ts';
import { movesOf, type Schedule, scheduleOf } from './schedule.ts';
import {
  callOf,
  type Explored,
  isFinal,
  type Move,
  type State,
  startOf,
  stateAfter,
} from './state.ts';
import { Engine, type HoldsFor, Interned, type Request, type World } from './worlds.ts';

/** Requests that run at the same time on a table with these items. */
export interface Scenario {
  readonly requests: readonly Request[];
  readonly items: readonly Item[];
  /** Whether a request may retry without progress. */
  readonly mayGiveUp?: boolean;
}

/** What is wrong with a final state, and the shortest schedule that leads to it. */
export interface Violation {
  readonly reason: string;
  readonly schedule: Schedule;
}

interface Judged {
  readonly seen: Seen;
  readonly violation: Violation | undefined;
}

interface Options {
  readonly faults?: number;
  readonly reduces?: boolean;
  readonly statesMax?: number;
  /** How conditions are evaluated: as they are written, or by a mutant. */
  readonly isMet?: HoldsFor;
  /** Receives every final state. */
  readonly onFinal?: (state: State, path: () => readonly Move[]) => void;
}

export const nameOfScenario = ({ requests }: Scenario): string =>
  requests.map(({ name }) => name).join(' | ');

/** A scenario whose requests have run: what one search learns of them, others use. */
export class Opened {
  readonly scenario: Scenario;
  readonly requests: readonly Explored[];
  readonly #interned = new Interned();
  readonly start: World;
  /** Evaluates conditions as they are written. */
  readonly engine: Engine;
  readonly #oracle: Oracle;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.requests = scenario.requests.map((request, position) => {
      const automaton = (attempt: number) => new Automaton(String(2 * position + attempt), request);
      return { ...request, automata: [automaton(1), automaton(2)] };
    });
    this.start = this.#interned.world(itemsIn(scenario.items).values());
    this.engine = new Engine(this.#interned);
    this.#oracle = new Oracle(this.requests, this.engine, this.start, scenario.mayGiveUp);
  }

  /** Explores all schedules up to the first violation. */
  async judge({ faults = 0, isMet, onFinal, ...options }: Options = {}): Promise<Judged> {
    const engine = new Engine(this.#interned, isMet);
    const start = this.start;
    let violation: Violation | undefined;
    const note = async (reason: string | undefined, path: () => readonly Move[]) => {
      if (reason === undefined) return false;
      violation = {
        reason,
        schedule: await scheduleOf(path(), this.requests, engine, start),
      };
      return true;
    };
    const seen = await explore(this.requests, {
      ...options,
      engine,
      start,
      faults,
      onMove: async ({ before, move, after }, path) =>
        note(await brokenIn(before, move, after), path),
      onFinal: async (state, path) => {
        onFinal?.(state, path);
        return note(await this.#oracle.violation(state), path);
      },
    });
    return { seen, violation };
  }

  /** Repeats a schedule, and judges each change and the state after it, if that is final. */
  async replay(text: string): Promise<{ schedule: Schedule; reason: string | undefined }> {
    const { requests, engine, start } = this;
    const moves = await movesOf(text, requests, engine, start);
    const schedule = await scheduleOf(moves, requests, engine, start);
    let reason: string | undefined;
    let state = await startOf(requests, start, moves.length);
    for (const move of moves) {
      const before = state;
      state = await stateAfter(before, move, { engine, requests });
      reason ??= await brokenIn(before, move, state);
    }
    if (isFinal(state)) reason ??= await this.#oracle.violation(state);
    return { schedule, reason };
  }
}

/** What is wrong with the transaction of a move, if it is committed. */
async function brokenIn(before: State, move: Move, after: State): Promise<string | undefined> {
  const call = after.world === before.world ? undefined : callOf(before, move);
  if (call?.operation !== 'transact') return undefined;
  return brokenBy(call, before.world) ?? call.by.notAsPlanned?.(before.world, after.world);
}

/** A violation as it is reported, with the command that repeats it. */
export const reportOf = (scenario: Scenario, { reason, schedule }: Violation): string =>
  [
    ...schedule.lines,
    reason,
    `npx node test/interleavings/replay.ts '${nameOfScenario(scenario)}' '${schedule.text}'`,
  ].join('\n');
