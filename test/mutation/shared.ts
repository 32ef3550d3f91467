import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/*
 * What the thread of the tests shares with the functions of local clouds, which run in workers of
 * its process. Their bundles contain all mutants, because they are made of the instrumented source.
 */

/** By the ids of mutants. */
type Counts = Uint32Array<SharedArrayBuffer>;

interface Shared {
  /** The id of the active mutant; -1 if there is none. */
  readonly active: Int32Array;
  /** How often mutants were reached while functions were loaded, and after that. */
  readonly onLoad: Counts;
  readonly inTest: Counts;
  /** How often a mutant may be reached: beyond that it is an endless loop, and throws. */
  readonly hitLimit: number;
}

const MUTANTS_MAX = 65_536;
const counts = (): Counts => new Uint32Array(new SharedArrayBuffer(4 * MUTANTS_MAX));

/** Functions that an earlier test file of the process has started share it. */
export function shared(): Shared {
  const existing = getEnvironmentData('mutants') as unknown as Shared | undefined;
  const memory: Shared = existing ?? {
    active: new Int32Array(new SharedArrayBuffer(4)).fill(-1),
    onLoad: counts(),
    inTest: counts(),
    hitLimit: 1_000_000,
  };
  if (!existing) setEnvironmentData('mutants', memory as never);
  return memory;
}

/** The mutants that were reached since the last call. */
export function takeReached(counts: Counts): number[] {
  const reached = [...counts.keys()].filter((id) => counts[id]);
  counts.fill(0);
  return reached;
}
