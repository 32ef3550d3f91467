import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runHistory } from '../support/model/histories.ts';
import { type Bench, openBench } from '../support/model/search-instance.ts';
import { runSequences } from '../support/model/sequences.ts';
import { buildMutantStack, type StackMutant, stackMutants } from '../support/stack/mutants.ts';

/*
 * Both searches detect carelessly implemented rules: the sequences by pairs of concurrent changes
 * and injected faults, the histories by clients whose requests overlap by chance. Both stop at
 * their first finding. From seed 1 on, the sequences need up to about 300 runs, so each search
 * starts at a path that is known to find something. The histories have four clients rather
 * than eight, because each function instance that starts on a mutant costs time.
 */

const SEARCHES: { mutant: StackMutant; path: string; faults?: boolean; onlyUsers?: boolean }[] = [
  {
    mutant: 'the last administrator is checked before the write instead of by its condition',
    path: '52',
  },
  { mutant: 'a renamed user keeps the guard of the old login', path: '4' },
  { mutant: 'administrators are counted instead of kept in a set', path: '54' },
  { mutant: 'a transaction conflict is reported as a violated rule', path: '38', faults: true },
  {
    mutant: 'a transaction whose response was lost is sent again with another token',
    path: '74',
    faults: true,
  },
  {
    mutant: 'a code of the second factor is checked before the write instead of by its condition',
    path: '16',
    onlyUsers: false,
  },
  {
    mutant: 'credentials are counted before the write instead of by its condition',
    path: '317',
    onlyUsers: false,
  },
  {
    mutant: 'the deletion of a parameter does not move the number that its module reads',
    path: '12',
    onlyUsers: false,
  },
];

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ assembly: inject('assembly'), checksPermissions: false });
});
afterAll(() => bench.gatehouse.stop());

describe.each(SEARCHES)('the mutant in which $mutant', (search) => {
  const { mutant, path, faults = false, onlyUsers = true } = search;
  let remove: () => void;
  beforeAll(async () => {
    const mutated = await buildMutantStack(stackMutants[mutant]);
    remove = mutated.remove;
    await bench.gatehouse.cloud.redeploy(mutated.assembly);
  });
  afterAll(() => remove());

  it('is found by the sequences', async () => {
    const found = await runSequences(bench, { seed: 1, path, runs: 60, shrink: false });

    expect(found).toBeDefined();
  });

  // Administrators who change each other reject each other's changes for a second. The histories
  // only change users.
  it.runIf(onlyUsers)('is found by the histories', async () => {
    let found: string | undefined;
    for (let seed = 1; seed <= 60 && !found; seed++) {
      found = await runHistory(bench, { seed, clients: 4, operations: 20, faults });
    }

    expect(found).toBeDefined();
  });
});
