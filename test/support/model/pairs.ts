import fc from 'fast-check';
import type { ModelRequest, State } from './model.ts';
import { type Bench, START } from './search-instance.ts';
import { startRun } from './sequences.ts';

/*
 * Every pair of concurrent changes to administrators, each decided before the other commits. One
 * order of the two must explain both responses and the table, so that no unique value has two
 * owners and the last administrator remains.
 */

/** Makes a change by a caller to a user, who may no longer exist. */
type ChangeFactory = (
  callerSession: string,
  user: string,
  state: State,
  name: string,
) => ModelRequest;

const update =
  (fields: (name: string) => object): ChangeFactory =>
  (callerSession, user, { users }, name) => {
    const { login = 'gone', email = 'gone@example.com' } = users[user] ?? {};
    return {
      do: 'update user',
      callerSession,
      user,
      login,
      email,
      ...fields(name),
    } as ModelRequest;
  };

const CHANGES: Record<string, ChangeFactory> = {
  delete: (callerSession, user, { users }) => ({
    do: 'delete user',
    callerSession,
    login: users[user]?.login ?? 'gone',
  }),
  demote: update(() => ({ authorities: ['ROLE_USER'] })),
  deactivate: update(() => ({ activated: false })),
  promote: update(() => ({ activated: true, authorities: ['ROLE_ADMIN'] })),
  // Both changes of a pair claim the same value, whatever their targets.
  rename: update(() => ({ login: 'wanted' })),
  'change e-mail': update((name) => ({
    email: name.endsWith('0') ? 'Wanted@Example.com' : 'wanted@example.COM',
  })),
};
const changeNames = Object.keys(CHANGES);
/** The names of every pair of changes. */
export const PAIRS = changeNames.flatMap((first, index) =>
  changeNames.slice(index).map((second) => [first, second] as const),
);

/** The targets of the two changes, given their callers. */
const TARGETS = {
  'each other': (one: string, other: string) => [other, one],
  themselves: (one: string, other: string) => [one, other],
  'the first caller': (one: string) => [one, one],
  'another user': () => ['user', 'user'],
} satisfies Record<string, (one: string, other: string) => string[]>;

const REVOCATIONS = ['delete', 'demote', 'deactivate'];
/** The pairs that could leave no administrator. */
export const REVOKING_PAIRS = PAIRS.filter((pair) =>
  pair.every((name) => REVOCATIONS.includes(name)),
);

/**
 * Runs rounds of the pairs with this many administrators. Returns the first outcome that no order
 * explains.
 */
export async function runPairs(
  bench: Bench,
  {
    seed,
    rounds,
    administrators,
    pairs = PAIRS,
  }: { seed: number; rounds: number; administrators: number; pairs?: typeof PAIRS },
): Promise<string | undefined> {
  const targetNames = fc.constantFrom(...(Object.keys(TARGETS) as (keyof typeof TARGETS)[]));
  const variant = fc.record({
    targetName: targetNames,
    sequentially: fc.boolean(),
    swapped: fc.boolean(),
  });
  const variants = fc.sample(variant, { seed, numRuns: rounds * pairs.length });
  for (const [index, { targetName, sequentially, swapped }] of variants.entries()) {
    const pair = pairs[index % pairs.length] as (typeof pairs)[number];
    const callers = swapped ? ['ann', 'admin'] : ['admin', 'ann'];
    const targets = TARGETS[targetName](...(callers as [string, string]));
    try {
      await bench.restore();
      const { runConcurrently } = startRun(bench);
      let state = START;
      for (let more = administrators - 2; more > 0; more--) {
        const person = {
          login: `more-${more}`,
          email: `more-${more}@example.com`,
          password: undefined,
        };
        const creation = {
          do: 'create user',
          callerSession: 'admin',
          as: person.login,
          authorities: ['ROLE_ADMIN'],
        } as const;
        state = await runConcurrently(
          state,
          [{ ...creation, ...person, activated: true }],
          { sequentially },
          'more',
        );
      }
      const requests = pair.map((change, position) =>
        (CHANGES[change] as ChangeFactory)(
          callers[position] as string,
          targets[position] as string,
          state,
          `pair${position}`,
        ),
      );
      await runConcurrently(state, requests, { sequentially }, pair.join(' and '));
    } catch (error) {
      const where =
        `Seed ${seed}, pair ${index + 1} of ${variants.length}, ${administrators} ` +
        'administrators';
      return (
        `${where}: ${pair.join(' and ')} ` +
        `${targetName}\n${error instanceof Error ? error.message : error}`
      );
    }
  }
  return undefined;
}
