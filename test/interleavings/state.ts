import type { Automaton, Node } from './automaton.ts';
import type { Call, Engine, Reply, Request, World } from './worlds.ts';

/** A request with its automata: of the first attempt, and of its repetition. */
export interface Explored extends Request {
  readonly automata: readonly [Automaton, Automaton];
}

/**
 * What can go wrong. A call fails: its response is `lost` after it took effect, it `never` arrives,
 * or a transaction is refused because of a conflict (`busy`) or throttling. Or the process `dies`
 * while a transaction is under way.
 */
const FAULTS_OF_TRANSACTIONS = ['lost', 'never', 'busy', 'throttled', 'dies'] as const;

/**
 * What happens next: a call is `served`, or there is a fault. The transaction of a process that has
 * died `arrives` later or never. A client without a response, or with 503, `repeats` its request
 * once.
 */
export interface Move {
  readonly process: number;
  /** The position among the calls of the process; the id of a call under way without a process. */
  readonly call: number;
  readonly kind: 'served' | (typeof FAULTS_OF_TRANSACTIONS)[number] | 'repeats' | 'arrives';
}

/** How far a request is. */
export interface Process {
  /** Undefined once the process has died. */
  readonly node: Node | undefined;
  /** The replies to the calls of the node, which its code receives together if it needs all. */
  readonly replies: readonly (Reply | undefined)[];
  /** 0, or 1 for the repetition. */
  readonly attempt: 0 | 1;
}

/** A state of an exploration. */
export interface State {
  readonly world: World;
  readonly processes: readonly Process[];
  /** The transactions of processes that have died, which may still arrive. */
  readonly underWay: readonly Call[];
  readonly faultsLeft: number;
}

/** The beginning of an attempt. */
export async function begun(request: Explored, attempt: 0 | 1): Promise<Process> {
  const node = await request.automata[attempt].root();
  return { node, attempt, replies: node.calls.map(() => undefined) };
}

/** The state before anything has happened. */
export async function startOf(
  requests: readonly Explored[],
  world: World,
  faultsLeft: number,
): Promise<State> {
  const processes = await Promise.all(requests.map((request) => begun(request, 0)));
  return { world, processes, underWay: [], faultsLeft };
}

/** Equal states have equal keys. */
export function keyOf({ world, processes, underWay, faultsLeft }: State): string {
  let key = `${world.id} ${faultsLeft}`;
  for (const { node, replies, attempt } of processes) {
    key += ` ${attempt}:${node ? node.id : ''}`;
    for (const reply of replies) key += `,${reply ? reply.id : ''}`;
  }
  for (const { id } of underWay) key += ` +${id}`;
  return key;
}

/** Whether every request has ended, though a client may repeat it. */
export const isFinal = ({ processes }: State): boolean =>
  processes.every(({ node }) => !node || node.outcome);

/** Whether the client has no response, or 503, so that it does not know what has happened. */
export const isInDoubt = ({ node }: Process): boolean =>
  !node || node.outcome?.kind === 'unavailable';

/** Everything that can happen next. */
export function movesIn({ processes, underWay, faultsLeft }: State): Move[] {
  const moves: Move[] = underWay.map(({ id }) => ({ process: -1, call: id, kind: 'arrives' }));
  for (const [process, state] of processes.entries()) {
    if (isInDoubt(state) && state.attempt === 0) moves.push({ process, call: 0, kind: 'repeats' });
    for (const [call, { operation }] of (state.node?.calls ?? []).entries()) {
      if (state.replies[call]) continue;
      moves.push({ process, call, kind: 'served' });
      if (faultsLeft === 0) continue;
      const faults = operation === 'transact' ? FAULTS_OF_TRANSACTIONS : (['never'] as const);
      for (const kind of faults) moves.push({ process, call, kind });
    }
  }
  return moves;
}

/** The call of a move, if it is about one. */
export function callOf({ processes, underWay }: State, { process, call, kind }: Move) {
  if (kind === 'repeats') return undefined;
  return kind === 'arrives'
    ? underWay.find(({ id }) => id === call)
    : processes[process]?.node?.calls[call];
}

/** The state after a move. */
export async function stateAfter(
  state: State,
  move: Move,
  { engine, requests }: { readonly engine: Engine; readonly requests: readonly Explored[] },
): Promise<State> {
  const { processes, underWay, faultsLeft } = state;
  const { process, kind } = move;
  const request = requests[process] as Explored;
  const replaced = (changed: Process) => processes.with(process, changed);
  if (kind === 'repeats') return { ...state, processes: replaced(await begun(request, 1)) };
  const call = callOf(state, move) as Call;
  if (kind === 'arrives') {
    const { world } = engine.execute(call, state.world);
    return { ...state, world, underWay: underWay.filter((each) => each !== call) };
  }
  const known = processes[process] as Process;
  if (kind === 'dies') {
    const left = [...underWay, call].sort((one, other) => one.id - other.id);
    const dead: Process = { ...known, node: undefined, replies: [] };
    return { ...state, processes: replaced(dead), underWay: left, faultsLeft: faultsLeft - 1 };
  }
  const served =
    kind === 'served' || kind === 'lost' ? engine.execute(call, state.world) : undefined;
  const reply =
    kind === 'served' ? (served?.reply as Reply) : engine.interned.failed(failureOf(call, kind));
  return {
    world: served?.world ?? state.world,
    processes: replaced(await received(request, known, move.call, reply)),
    underWay,
    faultsLeft: kind === 'served' ? faultsLeft : faultsLeft - 1,
  };
}

/** How a fault appears to the code. */
function failureOf(call: Call, kind: Move['kind']): 'lost' | readonly string[] {
  if (kind === 'lost' || kind === 'never' || call.operation !== 'transact') return 'lost';
  const code = kind === 'busy' ? 'TransactionConflict' : 'ThrottlingError';
  return call.writes.map((_, position) => (position === 0 ? code : 'None'));
}

async function received(
  { automata }: Explored,
  { node, replies, attempt }: Process,
  call: number,
  reply: Reply,
): Promise<Process> {
  const after = replies.with(call, reply);
  const next = node && (await automata[attempt].after(node, after));
  if (!next) return { node, attempt, replies: after };
  return { node: next, attempt, replies: next.calls.map(() => undefined) };
}
