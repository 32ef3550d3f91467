import { decidingKeys } from './commits.ts';
import {
  callOf,
  type Explored,
  isFinal,
  isInDoubt,
  keyOf,
  type Move,
  movesIn,
  type State,
  startOf,
  stateAfter,
} from './state.ts';
import { type Call, type Engine, getOrMake, type World } from './worlds.ts';

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

/* Which moves can change places without another outcome. */

/** Names a move in every state in which it is possible. */
const nameOfMove = ({ process, call, kind }: Move): string => `${process} ${call} ${kind}`;

/**
 * What a call touches: keys as partition and sort key, or a partition as a whole. A change touches
 * what decides whether it may be made, even if its code forgets to check that.
 */
interface Touched {
  readonly partitions: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  readonly writes: boolean;
}

const touchedBy = new Map<number, Touched>();

const touched = (call: Call): Touched => getOrMake(touchedBy, call.id, () => computeTouched(call));

function computeTouched(call: Call): Touched {
  if (call.operation === 'query')
    return { partitions: new Set([call.pk]), names: new Set(['*']), writes: false };
  const keys =
    'keys' in call ? call.keys : [...call.writes.map(({ key }) => key), ...decidingKeys(call)];
  return {
    partitions: new Set(keys.map(({ pk }) => pk)),
    names: new Set(keys.map(({ pk, sk }) => `${pk} ${sk}`)),
    writes: 'writes' in call,
  };
}

/** Whether two calls in either order have the same effect and replies. */
function commute(one: Call, other: Call): boolean {
  const [a, b] = [touched(one), touched(other)];
  if (!a.writes && !b.writes) return true;
  if (a.names.has('*') || b.names.has('*')) return areDisjoint(a.partitions, b.partitions);
  return areDisjoint(a.names, b.names);
}

function areDisjoint(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  for (const name of one) if (other.has(name)) return false;
  return true;
}

const isFault = ({ kind }: Move): boolean =>
  kind !== 'served' && kind !== 'repeats' && kind !== 'arrives';
const isServed = ({ kind }: Move): boolean =>
  kind === 'served' || kind === 'lost' || kind === 'arrives';

/** Whether two moves in either order lead to the same state. */
function areIndependent(state: State, one: Move, other: Move): boolean {
  if (one.process === other.process && one.process >= 0) return false;
  // Only so many faults are left.
  if (isFault(one) && isFault(other)) return false;
  if (!isServed(one) || !isServed(other)) return true;
  return commute(callOf(state, one) as Call, callOf(state, other) as Call);
}

/**
 * The moves of a read of what nobody else may write from now on, according to the permissions of
 * their functions: whatever else happens, it returns the same.
 */
function undisturbedRead(
  state: State,
  requests: readonly Explored[],
  moves: readonly Move[],
): readonly Move[] | undefined {
  const { processes, underWay } = state;
  const read = moves.find((move) => {
    const call = move.kind === 'served' && callOf(state, move);
    if (!call || touched(call).writes) return false;
    const mayDisturb = processes.some((process, position) => {
      const hasEnded = process.node?.outcome && !(isInDoubt(process) && process.attempt === 0);
      return (
        position !== move.process && !hasEnded && mayWrite(requests[position] as Explored, call)
      );
    });
    const beside = [...underWay, ...(processes[move.process]?.node?.calls ?? [])];
    return !mayDisturb && beside.every((each) => each === call || commute(each, call));
  });
  return (
    read && moves.filter(({ process, call }) => process === read.process && call === read.call)
  );
}

/** Whether the function of a request may write what a call reads. */
const mayWrite = ({ writes }: Explored, call: Call): boolean =>
  [...touched(call).partitions].some((pk) =>
    writes.some((partition) =>
      partition.endsWith('#') ? pk.startsWith(partition) : pk === partition,
    ),
  );
