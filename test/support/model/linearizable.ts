/**
 * A request of one client and its response. Times are positions in one order of all invocations and
 * responses.
 */
export interface Operation<I> {
  readonly client: number;
  readonly invoked: number;
  /**
   * Infinity if the outcome is unknown: the operation may take effect at any later time, or never.
   */
  readonly returned: number;
  readonly input: I;
  readonly output: string;
}

/** The outcomes that an operation may have in a state. Equal states must have equal texts. */
export type Specification<I> = (
  state: string,
  input: I,
) => readonly { readonly state: string; readonly output: string }[];

/**
 * The longest order that explains the responses, its final state, and the operations none of which
 * can follow.
 */
export interface Counterexample<I> {
  readonly order: readonly Operation<I>[];
  readonly state: string;
  readonly next: readonly Operation<I>[];
}

/** The number of dead ends after which the search gives up. */
const DEAD_ENDS_MAX = 50_000;

/**
 * Searches for one order of the operations that explains every response and respects real time: an
 * operation that returned before another was invoked precedes it. Returns undefined if there is
 * one. The algorithm is Wing and Gong's, with Lowe's memoization of dead ends.
 */
export function linearize<I>(
  history: readonly Operation<I>[],
  start: string,
  specification: Specification<I>,
): Counterexample<I> | undefined {
  const isUnknown = ({ returned }: Operation<I>) => returned === Number.POSITIVE_INFINITY;
  const sorted = history.toSorted((a, b) => a.invoked - b.invoked);
  const [known, unknown] = [sorted.filter((each) => !isUnknown(each)), sorted.filter(isUnknown)];
  const done = new Set<Operation<I>>();
  const deadEnds = new Set<string>();
  let best: Counterexample<I> | undefined;

  function search(from: number, state: string): boolean {
    let first = from;
    while (done.has(known[first] as Operation<I>)) first++;
    if (first === known.length) return true;
    // Operations invoked later cannot have taken effect yet, so two configurations can differ in
    // these only.
    const reach = known
      .slice(first)
      .findIndex(({ invoked }) => invoked > (known[first] as Operation<I>).returned);
    const within = known.slice(first, reach < 0 ? undefined : first + reach);
    const doneBits = [...within, ...unknown].map((each) => (done.has(each) ? 1 : 0)).join('');
    const configuration = `${first} ${doneBits} ${state}`;
    if (deadEnds.has(configuration)) return false;
    if (deadEnds.size === DEAD_ENDS_MAX)
      throw new Error(`No order found after ${DEAD_ENDS_MAX} dead ends`);

    const open = [...within, ...unknown].filter((each) => !done.has(each));
    const end = Math.min(...open.map(({ returned }) => returned));
    const next = open
      .filter(({ invoked }) => invoked < end)
      .sort((a, b) => a.returned - b.returned);
    if (!best || done.size > best.order.length) best = { order: [...done], state, next };
    for (const operation of next) {
      done.add(operation);
      for (const after of specification(state, operation.input)) {
        // An operation of unknown outcome that changes nothing is equivalent to one that never took
        // effect.
        const possible = isUnknown(operation)
          ? after.state !== state
          : after.output === operation.output;
        if (possible && search(first, after.state)) return true;
      }
      done.delete(operation);
    }
    deadEnds.add(configuration);
    return false;
  }
  return search(0, start) ? undefined : best;
}
