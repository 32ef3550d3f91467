import { decidingKeys } from './commits.ts';
import { callOf, type Explored, isInDoubt, type Move, type State } from './state.ts';
import type { Call } from './worlds.ts';

/* Which moves can change places without another outcome. */

/** Names a move in every state in which it is possible. */
export const nameOfMove = ({ process, call, kind }: Move): string => `${process} ${call} ${kind}`;

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

function touched(call: Call): Touched {
  let known = touchedBy.get(call.id);
  if (!known) {
    known = computeTouched(call);
    touchedBy.set(call.id, known);
  }
  return known;
}

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
export function areIndependent(state: State, one: Move, other: Move): boolean {
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
export function undisturbedRead(
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
