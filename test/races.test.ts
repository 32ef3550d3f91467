import { beforeAll, describe, expect, it } from 'vitest';
import { barrier } from './support/barrier.ts';
import { type Gatehouse, type Received, startGatehouse, useGatehouse } from './support/gatehouse.ts';
import { LONG } from './support/long.ts';
import { mutant } from './support/mutant.ts';

/*
 * What happens at the same moment. A barrier holds both transactions until both have been decided on, so that every
 * round is a race, and then lets them go together or one after the other. The same rounds find the mutants that check
 * before they write.
 */

const ROUNDS = 6;

const gate = barrier();
const gatehouse = useGatehouse({ intercept: gate.intercept });
let token: string;
beforeAll(async () => {
  token = await gatehouse.logIn('admin');
});

/** Sends all at once; their transactions wait for each other, and are made together or in turn. */
function race(inTurn: boolean, ...sends: (() => Promise<Received>)[]): Promise<Received[]> {
  gate.raise(sends.length, inTurn);
  return Promise.all(sends.map((send) => send().finally(gate.lift)));
}

/** Two requests that want the same thing, and how the one that comes late is refused. */
interface Taking {
  readonly error: string;
  prepare(on: Gatehouse, token: string, name: string): Promise<(() => Promise<Received>)[]>;
}

const create = (on: Gatehouse, token: string, login: string, email: string) =>
  on.call('POST', '/api/users', { token, body: { login, email } });
const put = (on: Gatehouse, token: string, user: object) => on.call('PUT', '/api/users', { token, body: user });

async function twoUsers(on: Gatehouse, token: string, name: string): Promise<Received['body'][]> {
  const created = ['a', 'b'].map((end) => create(on, token, `${name}-${end}`, `${name}-${end}@example.com`));
  return (await Promise.all(created)).map(({ body }) => body);
}

const TAKINGS: Record<string, Taking> = {
  'create a user with one login': {
    error: 'error.userexists',
    prepare: async (on, token, name) =>
      ['a', 'b'].map((end) => () => create(on, token, name, `${name}-${end}@example.com`)),
  },
  'create a user with one e-mail address in two spellings': {
    error: 'error.emailexists',
    prepare: async (on, token, name) =>
      [`${name}@Example.com`, `${name.toUpperCase()}@example.com`].map(
        (email, index) => () => create(on, token, `${name}-${index}`, email),
      ),
  },
  'rename a user to one login': {
    error: 'error.userexists',
    prepare: async (on, token, name) =>
      (await twoUsers(on, token, name)).map((user) => () => put(on, token, { ...user, login: name })),
  },
  'move a user to one e-mail address': {
    error: 'error.emailexists',
    prepare: async (on, token, name) =>
      (await twoUsers(on, token, name)).map((user) => () => put(on, token, { ...user, email: `${name}@b.c` })),
  },
};

let takings = 0;
/** One round of a taking: what became of each request. */
async function take(on: Gatehouse, token: string, taking: Taking, round: number): Promise<string[]> {
  const sends = await taking.prepare(on, token, `taken-${++takings}`);
  const answers = await race(round % 2 === 0, ...sends);
  return answers.map(({ status, body }) => (status < 300 ? 'taken' : body.message)).sort();
}

describe('two requests at the same moment', () => {
  it.each(Object.entries(TAKINGS))('%s: exactly one succeeds', { timeout: 60_000 }, async (_, taking) => {
    for (let round = 0; round < ROUNDS; round++) {
      expect(await take(gatehouse, token, taking, round), `round ${round}`).toEqual([taking.error, 'taken'].sort());
    }
  });

  it('the same rename twice is no clash with itself', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [user] = await twoUsers(gatehouse, token, `twice-${round}`);
      const rename = () => put(gatehouse, token, { ...user, login: `twice-${round}` });

      const answers = await race(round % 2 === 0, rename, rename);

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
  });
});

describe('who is renamed while changing another user', () => {
  it('is named in the audit fields as at the moment of the change', async () => {
    const name = 'renamed';
    const body = { login: name, email: 'renamed@example.com', password: name, authorities: ['ROLE_ADMIN'] };
    const { body: caller } = await gatehouse.call('POST', '/api/users', { token, body });
    const own = await gatehouse.logIn(name);
    const { body: target } = await create(gatehouse, token, 'target', 'target@example.com');
    const names: string[] = [];

    for (let round = 0; round < ROUNDS; round++) {
      // Only after the rename is the name free for the other.
      const rename = () => put(gatehouse, token, { ...caller, login: `now-${round}` });
      const takeName = () => put(gatehouse, own, { ...target, login: name });
      const [, taken] = await race(true, rename, takeName);
      names.push(taken?.status === 200 ? taken.body.lastModifiedBy : `now-${round}`);
      await put(gatehouse, token, target);
      await put(gatehouse, token, caller);
    }

    expect(names).toEqual(names.map((_, round) => `now-${round}`));
  });
});

if (LONG) {
  describe('a mutant that checks before it writes', () => {
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
          from: '    await self;\n',
          to: `    await self;
          if (await table.get({ pk: 'LOGIN#' + fields.login, sk: 'GUARD' })) throw new Failure('login-taken');\n`,
        },
      ];

      const { assembly, remove } = await mutant(mutations);
      const racing = await startGatehouse({ intercept: gate.intercept, assembly });
      const admin = await racing.logIn('admin');
      for (let round = 0; round < ROUNDS; round++) {
        results.push(await take(racing, admin, TAKINGS['create a user with one login'] as Taking, round));
      }
      await racing.stop();
      remove();

      expect(results).toContainEqual(['taken', 'taken']);
    });
  });
}
