import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { afterEach, beforeAll, beforeEach } from 'vitest';

/*
 * Connects Stryker with the functions of local clouds, which run in workers of this thread. Their
 * bundles contain all mutants, because they are made of the instrumented source. The workers share
 * memory with this thread: it says which mutant is active, and counts the mutants that are reached.
 */

const MUTANTS_MAX = 65_536;

interface Shared {
  /** The id of the active mutant; -1 if there is none. */
  readonly active: Int32Array;
  readonly onLoad: Uint32Array;
  readonly inTest: Uint32Array;
}

type Counts = Record<string, number>;

interface Stryker {
  activeMutant?: string;
  currentTestId?: string;
  mutantCoverage?: { static: Counts; perTest: Record<string, Counts> };
}

const { __stryker__: stryker } = globalThis as unknown as { __stryker__: Stryker };
const counts = () => new Uint32Array(new SharedArrayBuffer(4 * MUTANTS_MAX));
// The workers of an earlier test file share it.
const shared = (getEnvironmentData('mutants') as unknown as Shared | undefined) ?? {
  active: new Int32Array(new SharedArrayBuffer(4)),
  onLoad: counts(),
  inTest: counts(),
};
setEnvironmentData('mutants', shared as never);

beforeAll(() => {
  shared.active[0] = Number(stryker.activeMutant ?? -1);
});

beforeEach(() => {
  shared.inTest.fill(0);
});

afterEach(() => {
  stryker.mutantCoverage ??= { static: {}, perTest: {} };
  const { static: onLoad, perTest } = stryker.mutantCoverage;
  const { currentTestId = '' } = stryker;
  perTest[currentTestId] ??= {};
  move(shared.onLoad, onLoad);
  move(shared.inTest, perTest[currentTestId]);
});

function move(counts: Uint32Array, total: Counts): void {
  counts.forEach((count, id) => {
    if (count > 0) total[id] = (total[id] ?? 0) + count;
  });
  counts.fill(0);
}
