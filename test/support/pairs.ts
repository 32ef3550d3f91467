import fc from 'fast-check';
import { type Bench, START } from './bench.ts';
import type { Act, State } from './model.ts';
import { startRun } from './sequences.ts';

/*
 * Every pair of what can happen to administrators, at the same moment: each decided before the other is made. One order
 * of the two must explain both answers and the table, so that nobody wins twice and the last administrator stays.
 */

type Deed = (by: string, user: string, state: State, name: string) => Act;

const update =
  (fields: (name: string) => object): Deed =>
  (by, user, { users }, name) => {
    const { login = 'gone', email = 'gone@example.com' } = users[user] ?? {};
    return { do: 'update user', by, user, login, email, ...fields(name) } as Act;
  };

const DEEDS: Record<string, Deed> = {
  delete: (by, user, { users }) => ({ do: 'delete user', by, login: users[user]?.login ?? 'gone' }),
  demote: update(() => ({ authorities: ['ROLE_USER'] })),
  deactivate: update(() => ({ activated: false })),
  promote: update(() => ({ activated: true, authorities: ['ROLE_ADMIN'] })),
  // Both want the same, whoever they are done to.
  rename: update(() => ({ login: 'wanted' })),
  'change e-mail': update((name) => ({ email: name.endsWith('0') ? 'Wanted@Example.com' : 'wanted@example.COM' })),
};
const names = Object.keys(DEEDS);
/** Every pair of deeds. */
export const PAIRS = names.flatMap((first, index) => names.slice(index).map((second) => [first, second] as const));

/** Whom they are done to. */
const AIMS = {
  'each other': (one: string, other: string) => [other, one],
  themselves: (one: string, other: string) => [one, other],
  'the first of them': (one: string) => [one, one],
  'somebody else': () => ['user', 'user'],
} satisfies Record<string, (one: string, other: string) => string[]>;

/** The pairs after which nobody might be left who administers. */
const ENDINGS = ['delete', 'demote', 'deactivate'];
export const ENDING_PAIRS = PAIRS.filter((pair) => pair.every((name) => ENDINGS.includes(name)));

/** Rounds of some pairs, with two administrators or with so many. Undefined, or what no order explains. */
export async function runPairs(
  bench: Bench,
  {
    seed,
    rounds,
    administrators,
    pairs = PAIRS,
  }: { seed: number; rounds: number; administrators: number; pairs?: typeof PAIRS },
): Promise<string | undefined> {
  const aims = fc.constantFrom(...(Object.keys(AIMS) as (keyof typeof AIMS)[]));
  const dice = fc.record({ aim: aims, inTurn: fc.boolean(), swapped: fc.boolean() });
  const throws = fc.sample(dice, { seed, numRuns: rounds * pairs.length });
  for (const [round, { aim, inTurn, swapped }] of throws.entries()) {
    const pair = pairs[round % pairs.length] as (typeof pairs)[number];
    const callers = swapped ? ['ann', 'admin'] : ['admin', 'ann'];
    const targets = AIMS[aim](...(callers as [string, string]));
    try {
      await bench.putBack();
      const { atOnce } = startRun(bench);
      let state = START;
      for (let more = administrators - 2; more > 0; more--) {
        const person = { login: `more-${more}`, email: `more-${more}@example.com`, password: undefined };
        const creation = { do: 'create user', by: 'admin', as: person.login, authorities: ['ROLE_ADMIN'] } as const;
        state = await atOnce(state, [{ ...creation, ...person, activated: true }], { inTurn }, 'more');
      }
      const acts = pair.map((deed, index) =>
        (DEEDS[deed] as Deed)(callers[index] as string, targets[index] as string, state, `pair${index}`),
      );
      await atOnce(state, acts, { inTurn }, pair.join(' and '));
    } catch (error) {
      const where = `Seed ${seed}, round ${round}, ${administrators} administrators: ${pair.join(' and ')} ${aim}`;
      return `${where}\n${error instanceof Error ? error.message : error}`;
    }
  }
  return undefined;
}
