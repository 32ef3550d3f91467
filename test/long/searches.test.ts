import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Bench, openBench } from '../support/bench.ts';
import { runHistory } from '../support/histories.ts';
import { type Mutation, mutant } from '../support/mutant.ts';
import { runSequences } from '../support/sequences.ts';

/*
 * Both searches find what a careless hand would have made of a rule: the sequences by steps of two changes at once and by
 * faults on purpose, the histories by clients who meet by chance. From the first seed on the sequences take up to some
 * twenty tries; here the search begins where it found something. Both stop at their first finding. Four clients, not
 * eight: each instance of a function that starts on a mutant costs time.
 */

const MUTANTS: Record<string, { sequence: string; faults?: boolean; mutations: Mutation[] }> = {
  'the last administrator is looked up before, and not checked by the write': {
    sequence: '5',
    mutations: [
      {
        file: 'lib/users/administrators.ts',
        from: "condition: 'contains(#ids, :id) AND size(#ids) > :one'",
        to: "condition: 'contains(#ids, :id) AND :one = :one'",
      },
      // Where a user is looked up and decided on, long before the write.
      {
        file: 'lib/users/administrators.ts',
        from: "import type { User } from './user.ts';",
        to: `import type { User } from './user.ts';
      import { Failure } from '../failure.ts';
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
        from: 'await together([self, load(self), precedenceWait(table, caller.id)]);',
        to: `await together([self, load(self), precedenceWait(table, caller.id),
          table.get({ pk: 'ADMINS', sk: 'ROSTER' }).then(count)]);`,
      },
      {
        file: 'lib/authorization/authorize.ts',
        from: "import { findUser } from './user-table.ts';",
        to: "import { findUser } from './user-table.ts';\nimport { count } from './administrators.ts';",
      },
    ],
  },
  'a renamed user keeps the guard of the old login': {
    sequence: '12',
    mutations: [{ file: 'lib/users/user-table.ts', from: '...(renamed ? [releaseLogin(before)] : []),', to: '' }],
  },
  // Under the user's version a counter would count right. What a set forgives and a counter does not is a second
  // demotion of the same user; so this one comes without the version. The set is kept, and decides nothing.
  'administrators are counted, and demotions not told apart': {
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
        from: '      unchanged(before),\n    ),\n  ];',
        to: `membership(before, after).length === 0 ? unchanged(before) : {
          condition: 'attribute_exists(pk)', onConditionFailed: 'retry',
        },\n    ),\n  ];`,
      },
    ],
  },
  'a transaction that meets another one is answered as if it broke a rule': {
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
        from: "if (others.length > 0) return 'busy';",
        to: "if (others.length > 0 && broken.every(({ otherwise }) => otherwise === undefined)) return 'busy';",
      },
    ],
  },
  'a transaction whose answer was lost is sent again under another token': {
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
  bench = await openBench({ assembly: inject('assembly'), heldToRows: false });
});
afterAll(() => bench.gatehouse.stop());

describe.each(Object.entries(MUTANTS))('%s:', (_, { sequence, faults = false, mutations }) => {
  let remove: () => void;
  beforeAll(async () => {
    const made = await mutant(mutations);
    remove = made.remove;
    await bench.gatehouse.cloud.redeploy(made.assembly);
  });
  afterAll(() => remove());

  it('the sequences find it', { timeout: 60_000 }, async () => {
    const found = await runSequences(bench, { seed: 1, path: sequence, runs: 60, shrink: false });

    expect(found).toBeDefined();
  });

  // Administrators who change each other wait for each other's precedence: up to a second each time.
  it('the histories find it', { timeout: 180_000 }, async () => {
    let found: string | undefined;
    for (let seed = 1; seed <= 60 && !found; seed++) {
      found = await runHistory(bench, { seed, clients: 4, operations: 20, faults });
    }

    expect(found).toBeDefined();
  });
});
