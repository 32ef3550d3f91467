/** What one client asked and was told. The times are places in one order of all calls and returns. */
export interface Operation<I> {
  readonly client: number;
  readonly invoked: number;
  /** Infinity when the outcome is unknown: it may have taken effect at any time since, or never. */
  readonly returned: number;
  readonly input: I;
  readonly output: string;
}

/** What an operation may do in a state; states are texts that are equal when they are. */
export type Specification<I> = (
  state: string,
  input: I,
) => readonly { readonly state: string; readonly output: string }[];

/** The longest order that explains answers, where it leads to, and the answers of which none can come next. */
export interface Counterexample<I> {
  readonly order: readonly Operation<I>[];
  readonly state: string;
  readonly next: readonly Operation<I>[];
}

/** Dead ends after which the search gives up. */
const MOST = 50_000;

/**
 * Whether there is one order of the operations that gives every answer and keeps real time: what had returned before
 * another was invoked comes first. Undefined if so. The search is Wing and Gong's, with Lowe's memory of dead ends.
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
    // Nothing that was invoked later can be done yet, so this is all that two configurations can differ in.
    const reach = known.slice(first).findIndex(({ invoked }) => invoked > (known[first] as Operation<I>).returned);
    const within = known.slice(first, reach < 0 ? undefined : first + reach);
    const configuration = `${first} ${[...within, ...unknown].map((each) => (done.has(each) ? 1 : 0)).join('')} ${state}`;
    if (deadEnds.has(configuration)) return false;
    if (deadEnds.size === MOST) throw new Error(`No order found after ${MOST} dead ends`);

    const open = [...within, ...unknown].filter((each) => !done.has(each));
    const end = Math.min(...open.map(({ returned }) => returned));
    const next = open.filter(({ invoked }) => invoked < end).sort((a, b) => a.returned - b.returned);
    if (!best || done.size > best.order.length) best = { order: [...done], state, next };
    for (const operation of next) {
      done.add(operation);
      for (const after of specification(state, operation.input)) {
        // An unknown operation that changes nothing may as well never have taken effect.
        const possible = isUnknown(operation) ? after.state !== state : after.output === operation.output;
        if (possible && search(first, after.state)) return true;
      }
      done.delete(operation);
    }
    deadEnds.add(configuration);
    return false;
  }
  return search(0, start) ? undefined : best;
}
