import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Received } from './support/gatehouse.ts';
import { type Mutation, mutant } from './support/mutant.ts';
import { ACTS, type Rivals, startRivals } from './support/rivals.ts';

/*
 * What happens at the same moment. A barrier holds both transactions until both have been decided on, so that every
 * round is a race, and then lets them go together or one after the other. The same rounds find the mutants that check
 * before they write.
 */

const ROUNDS = 12;
const names = Object.keys(ACTS) as (keyof typeof ACTS)[];
const PAIRS = names.flatMap((first, index) => names.slice(index).map((second) => [first, second] as const));

let rivals: Rivals;
beforeAll(async () => {
  rivals = await startRivals();
});
afterAll(() => rivals.gatehouse.stop());

describe.each(['each other', 'themselves'] as const)('two administrators who stop %s from administering', (aim) => {
  it.each(PAIRS)('%s and %s: exactly one succeeds', { timeout: 60_000 }, async (first, second) => {
    for (let round = 0; round < ROUNDS; round++) {
      const result = await rivals.round(ACTS[first], ACTS[second], aim, round % 2 === 0);

      expect(result, `round ${round}`).toMatchObject({ administratorsLeft: 1, succeeded: 1 });
    }
  });
});

/** Two requests that want the same thing, and how the one that comes late is refused. */
interface Taking {
  readonly error: string;
  prepare(rivals: Rivals, token: string, name: string): Promise<(() => Promise<Received>)[]>;
}

const create = ({ gatehouse }: Rivals, token: string, login: string, email: string) =>
  gatehouse.call('POST', '/api/users', { token, body: { login, email } });
const put = ({ gatehouse }: Rivals, token: string, user: object) =>
  gatehouse.call('PUT', '/api/users', { token, body: user });

async function twoUsers(rivals: Rivals, token: string, name: string): Promise<Received['body'][]> {
  const created = ['a', 'b'].map((end) => create(rivals, token, `${name}-${end}`, `${name}-${end}@example.com`));
  return (await Promise.all(created)).map(({ body }) => body);
}

const TAKINGS: Record<string, Taking> = {
  'create a user with one login': {
    error: 'error.userexists',
    prepare: async (rivals, token, name) =>
      ['a', 'b'].map((end) => () => create(rivals, token, name, `${name}-${end}@example.com`)),
  },
  'create a user with one e-mail address in two spellings': {
    error: 'error.emailexists',
    prepare: async (rivals, token, name) =>
      [`${name}@Example.com`, `${name.toUpperCase()}@example.com`].map(
        (email, index) => () => create(rivals, token, `${name}-${index}`, email),
      ),
  },
  'rename a user to one login': {
    error: 'error.userexists',
    prepare: async (rivals, token, name) =>
      (await twoUsers(rivals, token, name)).map((user) => () => put(rivals, token, { ...user, login: name })),
  },
  'move a user to one e-mail address': {
    error: 'error.emailexists',
    prepare: async (rivals, token, name) =>
      (await twoUsers(rivals, token, name)).map((user) => () => put(rivals, token, { ...user, email: `${name}@b.c` })),
  },
};

let takings = 0;
/** One round of a taking: what became of each request. */
async function take(rivals: Rivals, taking: Taking, round: number): Promise<string[]> {
  const token = await rivals.administrator();
  const sends = await taking.prepare(rivals, token, `taken-${++takings}`);
  const answers = await rivals.race(round % 2 === 0, ...sends);
  return answers.map(({ status, body }) => (status < 300 ? 'taken' : body.message)).sort();
}

describe('two requests at the same moment', () => {
  it.each(Object.entries(TAKINGS))('%s: exactly one succeeds', { timeout: 60_000 }, async (_, taking) => {
    for (let round = 0; round < ROUNDS; round++) {
      expect(await take(rivals, taking, round), `round ${round}`).toEqual([taking.error, 'taken'].sort());
    }
  });

  it('the same rename twice is no clash with itself', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const token = await rivals.administrator();
      const [user] = await twoUsers(rivals, token, `twice-${round}`);
      const rename = () => put(rivals, token, { ...user, login: `twice-${round}` });

      const answers = await rivals.race(round % 2 === 0, rename, rename);

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
  });
});

describe('who is renamed while changing another user', () => {
  it('is named in the audit fields as at the moment of the change', async () => {
    const token = await rivals.administrator();
    const name = 'renamed';
    const body = { login: name, email: 'renamed@example.com', password: name, authorities: ['ROLE_ADMIN'] };
    const { body: caller } = await rivals.gatehouse.call('POST', '/api/users', { token, body });
    const own = await rivals.gatehouse.logIn(name);
    const { body: target } = await create(rivals, token, 'target', 'target@example.com');
    const names: string[] = [];

    for (let round = 0; round < ROUNDS; round++) {
      // Only after the rename is the name free for the other.
      const rename = () => put(rivals, token, { ...caller, login: `now-${round}` });
      const takeName = () => put(rivals, own, { ...target, login: name });
      const [, taken] = await rivals.race(true, rename, takeName);
      names.push(taken?.status === 200 ? taken.body.lastModifiedBy : `now-${round}`);
      await put(rivals, token, target);
      await put(rivals, token, caller);
    }

    expect(names).toEqual(names.map((_, round) => `now-${round}`));
  });
});

describe('a mutant that checks before it writes', () => {
  it('loses the last administrator in these rounds', { timeout: 60_000 }, async () => {
    const left: number[] = [];
    const mutations = [
      {
        file: 'lib/users/administrators.ts',
        from: "condition: 'contains(#ids, :id) AND size(#ids) > :one'",
        to: "condition: 'contains(#ids, :id) AND :one = :one'",
      },
      {
        file: 'lib/users/update-user.ts',
        from: '() => findUser(table, wanted.id),',
        to: `async () => {
          const roster = await table.get({ pk: 'ADMINS', sk: 'ROSTER' });
          if ((roster?.ids as Set<number>).size === 1) throw new Failure('last-administrator');
          return findUser(table, wanted.id);
        },`,
      },
    ];

    await withMutant(mutations, async (racing) => {
      for (let round = 0; round < ROUNDS && !left.includes(0); round++) {
        left.push((await racing.round(ACTS.demote, ACTS.demote, 'themselves', round % 2 === 0)).administratorsLeft);
      }
    });

    expect(left).toContain(0);
  });

  it('gives one login to two users in these rounds', { timeout: 60_000 }, async () => {
    const results: string[][] = [];
    const mutations = [
      {
        file: 'lib/users/user-table.ts',
        from: "const claimLogin = (user: User) => claim(loginGuardKey(user.login), { id: user.id }, 'login-taken');",
        to: `const claimLogin = (user: User): Write => ({
          act: 'Put', key: loginGuardKey(user.login), attributes: { id: user.id },
        });`,
      },
      {
        file: 'lib/users/create-user.ts',
        from: 'import type { Passwords }',
        to: "import { Failure } from '../failure.ts';\nimport type { Passwords }",
      },
      {
        file: 'lib/users/create-user.ts',
        from: 'CreateUser.who, nothing,',
        to: `CreateUser.who, async () => {
          if (await table.get({ pk: 'LOGIN#' + fields.login, sk: 'GUARD' })) throw new Failure('login-taken');
        },`,
      },
    ];

    await withMutant(mutations, async (racing) => {
      for (let round = 0; round < ROUNDS; round++) {
        results.push(await take(racing, TAKINGS['create a user with one login'] as Taking, round));
      }
    });

    expect(results).toContainEqual(['taken', 'taken']);
  });
});

/** Rivals on a mutant, whose files go when they have served. */
async function withMutant(mutations: Mutation[], play: (racing: Rivals) => Promise<void>): Promise<void> {
  const { assembly, remove } = await mutant(mutations);
  try {
    const racing = await startRivals(assembly);
    await play(racing).finally(racing.gatehouse.stop);
  } finally {
    remove();
  }
}
