import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Bench, openBench } from '../support/bench.ts';
import { runHistory } from '../support/histories.ts';
import { buildMutantStack, type Mutation } from '../support/mutant-stack.ts';
import { runSequences } from '../support/sequences.ts';

/*
 * Both searches detect carelessly implemented rules: the sequences by pairs of concurrent changes and injected faults,
 * the histories by clients whose requests overlap by chance. Both stop at their first finding. From seed 1 on, the
 * sequences need up to about twenty runs, so each search starts at a path that is known to find something. The
 * histories have four clients rather than eight, because each function instance that starts on a mutant costs time.
 */

const MUTANTS: Record<string, { sequence: string; faults?: boolean; mutations: Mutation[] }> = {
  'the last administrator is checked before the write instead of by its condition': {
    sequence: '5',
    mutations: [
      {
        file: 'lib/users/administrators.ts',
        from: "condition: 'contains(#ids, :id) AND size(#ids) > :one'",
        to: "condition: 'contains(#ids, :id) AND :one = :one'",
      },
      // The check is made when the caller is loaded, long before the write.
      {
        file: 'lib/users/administrators.ts',
        from: "import type { User } from './user.ts';",
        to: `import type { User } from './user.ts';
      import { Failure } from '../contract/failure.ts';
      let administrators = 0;
      export const count = (roster) => { administrators = roster?.ids?.size ?? 0; };`,
      },
      {
        file: 'lib/users/administrators.ts',
        from: 'function leaveRoster(id: number): Write {',
        to: "function leaveRoster(id: number): Write {\n  if (administrators < 2) throw new Failure('last-administrator');",
      },
      {
        file: 'lib/authorization/authorize.ts',
        from: 'await settleAll([callerUser, load(callerUser), precedenceWait(table, callerId)]);',
        to: `await settleAll([callerUser, load(callerUser), precedenceWait(table, callerId),
          table.get({ pk: 'ADMINS', sk: 'ROSTER' }).then(count)]);`,
      },
      {
        file: 'lib/authorization/authorize.ts',
        from: "import { findUser } from '../users/user-table.ts';",
        to: "import { findUser } from '../users/user-table.ts';\nimport { count } from '../users/administrators.ts';",
      },
    ],
  },
  'a renamed user keeps the guard of the old login': {
    sequence: '12',
    mutations: [{ file: 'lib/users/user-table.ts', from: '...(renamed ? [releaseLogin(before)] : []),', to: '' }],
  },
  // Unlike a set, a counter is wrong after the same user is demoted twice. The condition on the user's version would
  // prevent that, so this mutant drops it. The set is still written, but nothing depends on it.
  'administrators are counted instead of kept in a set': {
    sequence: '18',
    mutations: [
      {
        file: 'lib/users/administrators.ts',
        from: "update: 'DELETE #ids :set',\n    condition: 'contains(#ids, :id) AND size(#ids) > :one',\n    names: { '#ids': 'ids' },\n    values: { ':set': new Set([id]), ':id': id, ':one': 1 },",
        to: `update: 'SET #count = if_not_exists(#count, :two) - :one DELETE #ids :set',
          condition: 'attribute_not_exists(#count) OR #count > :one',
          names: { '#ids': 'ids', '#count': 'counted' },
          values: { ':set': new Set([id]), ':one': 1, ':two': 2 },`,
      },
      {
        file: 'lib/users/administrators.ts',
        from: "update: 'ADD #ids :set',\n    names: { '#ids': 'ids' },\n    values: { ':set': new Set([id]) },",
        to: `update: 'SET #count = if_not_exists(#count, :two) + :one ADD #ids :set',
          names: { '#ids': 'ids', '#count': 'counted' },
          values: { ':set': new Set([id]), ':one': 1, ':two': 2 },`,
      },
      {
        file: 'lib/users/user-table.ts',
        from: '      versionIs(before),\n    ),\n  ];',
        to: `membership(before, after).length === 0 ? versionIs(before) : {
          condition: 'attribute_exists(pk)', onConditionFailed: 'retry',
        },\n    ),\n  ];`,
      },
    ],
  },
  'a transaction conflict is reported as a violated rule': {
    sequence: '15',
    faults: true,
    mutations: [
      {
        file: 'lib/table/change.ts',
        from: "codes[position] === 'ConditionalCheckFailed'",
        to: "codes[position] !== 'None'",
      },
      {
        file: 'lib/table/change.ts',
        from: "if (otherCodes.length > 0) return 'busy';",
        to: "if (otherCodes.length > 0 && failedWrites.every((write) => write.onConditionFailed === undefined)) return 'busy';",
      },
    ],
  },
  'a transaction whose response was lost is sent again with another token': {
    sequence: '7',
    faults: true,
    mutations: [
      {
        file: 'lib/table/change.ts',
        from: 'await table.transact(writes, token)',
        to: 'await table.transact(writes, randomUUID())',
      },
    ],
  },
};

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ assembly: inject('assembly'), checksPermissions: false });
});
afterAll(() => bench.gatehouse.stop());

describe.each(Object.entries(MUTANTS))('the mutant in which %s', (_, { sequence, faults = false, mutations }) => {
  let remove: () => void;
  beforeAll(async () => {
    const mutated = await buildMutantStack(mutations);
    remove = mutated.remove;
    await bench.gatehouse.cloud.redeploy(mutated.assembly);
  });
  afterAll(() => remove());

  it('is found by the sequences', { timeout: 60_000 }, async () => {
    const found = await runSequences(bench, { seed: 1, path: sequence, runs: 60, shrink: false });

    expect(found).toBeDefined();
  });

  // Administrators who change each other wait up to a second for each other's precedence.
  it('is found by the histories', { timeout: 180_000 }, async () => {
    let found: string | undefined;
    for (let seed = 1; seed <= 60 && !found; seed++) {
      found = await runHistory(bench, { seed, clients: 4, operations: 20, faults });
    }

    expect(found).toBeDefined();
  });
});
