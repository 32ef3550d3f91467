import { areIndependent, nameOfMove, undisturbedRead } from './independence.ts';
import {
  type Explored,
  isFinal,
  keyOf,
  type Move,
  movesIn,
  type State,
  startOf,
  stateAfter,
} from './state.ts';
import type { Engine, World } from './worlds.ts';

interface Options {
  readonly engine: Engine;
  readonly start: World;
  /** How many faults there are at most. */
  readonly faults: number;
  /** Whether to leave out orders that differ only in the order of independent moves. */
  readonly reduces?: boolean;
  readonly statesMax?: number;
  /** Receives every move, its states, and how it was reached; the search ends when it returns true. */
  readonly onMove?: (
    step: { readonly before: State; readonly move: Move; readonly after: State },
    path: () => readonly Move[],
  ) => Promise<boolean>;
  /** Likewise every final state. */
  readonly onFinal: (state: State, path: () => readonly Move[]) => Promise<boolean>;
}

/** What a search has seen. */
export interface Seen {
  readonly states: number;
  readonly moves: number;
  /** False if there are more states than `statesMax`. */
  readonly isComplete: boolean;
}

/** Moves by their names. */
type Moves = ReadonlyMap<string, Move>;

interface Visited {
  readonly state: State;
  readonly from: Visited | undefined;
  readonly by: Move | undefined;
  /** What can happen next. */
  readonly moves: Moves;
  /** The moves that need not be explored from here, because they are explored from elsewhere. */
  sleeping: Moves;
}

/**
 * Searches all orders in which the calls of requests can be served, with all faults between them,
 * the shortest first. With `reduces`, a read of what no other request may write goes first, and
 * moves that are independent of each other are explored in one order: sleep sets with stored states
 * (P. Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, 1996). Both
 * leave out states on the way, but no final state.
 */
export async function explore(
  requests: readonly Explored[],
  { engine, start, faults, reduces = true, statesMax = 2_000_000, onMove, onFinal }: Options,
): Promise<Seen> {
  const visited = new Map<string, Visited>();
  const queue: { readonly at: Visited; readonly moves: Moves }[] = [];
  let moves = 0;

  /** Returns the state if it is new. */
  const visit = (state: State, sleeping: Moves, from?: Visited, by?: Move): Visited | undefined => {
    const key = keyOf(state);
    const known = visited.get(key);
    if (known) {
      const woken = except(known.sleeping, sleeping);
      if (woken.size === 0) return undefined;
      known.sleeping = except(known.sleeping, woken);
      queue.push({
        at: known,
        moves: new Map([...woken].filter(([name]) => known.moves.has(name))),
      });
      return undefined;
    }
    const enabled = movesIn(state);
    const chosen = (reduces && undisturbedRead(state, requests, enabled)) || enabled;
    const named = new Map(chosen.map((move) => [nameOfMove(move), move]));
    const at: Visited = { state, from, by, moves: named, sleeping };
    visited.set(key, at);
    queue.push({ at, moves: except(named, sleeping) });
    return at;
  };

  visit(await startOf(requests, start, faults), NONE);
  for (const { at, moves: toExplore } of queue) {
    const { state } = at;
    // The moves that are explored from elsewhere or were explored at an earlier visit.
    const done = new Map([...at.sleeping, ...except(at.moves, toExplore)]);
    for (const [name, move] of toExplore) {
      moves++;
      const after = await stateAfter(state, move, { engine, requests });
      const path = () => [...pathTo(at), move];
      if (await onMove?.({ before: state, move, after }, path))
        return { states: visited.size, moves, isComplete: true };
      const isStillDone = ([, other]: [string, Move]) => areIndependent(state, move, other);
      const sleeping = reduces ? new Map([...done].filter(isStillDone)) : NONE;
      const found = visit(after, sleeping, at, move);
      if (found && isFinal(after) && (await onFinal(after, path)))
        return { states: visited.size, moves, isComplete: true };
      if (visited.size > statesMax) return { states: visited.size, moves, isComplete: false };
      done.set(name, move);
    }
  }
  return { states: visited.size, moves, isComplete: true };
}

const NONE: Moves = new Map();

const except = (moves: Moves, others: Moves): Moves =>
  others.size === 0 ? moves : new Map([...moves].filter(([name]) => !others.has(name)));

function pathTo({ from, by }: Visited): Move[] {
  return from && by ? [...pathTo(from), by] : [];
}
