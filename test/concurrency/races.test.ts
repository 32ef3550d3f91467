import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Gatehouse,
  type Received,
  startGatehouse,
  useGatehouse,
} from '../support/instance/gatehouse.ts';
import { LONG } from '../support/instance/long.ts';
import { openBarrier } from '../support/model/barrier.ts';
import { buildMutantStack, stackMutants } from '../support/stack/mutants.ts';

/*
 * Races for unique values. A barrier holds both transactions until both requests have read and
 * decided, and then releases them together or one after the other. The same rounds must catch
 * mutants that check before they write instead of writing under a condition.
 */

const ROUNDS = 6;

const barrier = openBarrier();
const gatehouse = await useGatehouse({ intercept: barrier.intercept });
let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

/** Sends the requests concurrently and releases their transactions together or sequentially. */
function race(sequentially: boolean, ...sends: (() => Promise<Received>)[]): Promise<Received[]> {
  barrier.raise(sends.length, sequentially);
  return Promise.all(sends.map((send) => send().finally(barrier.lift)));
}

/** Two requests that claim the same unique value, and the error that the loser gets. */
interface UniquenessRace {
  readonly error: string;
  prepare(service: Gatehouse, token: string, name: string): Promise<(() => Promise<Received>)[]>;
}

const create = (service: Gatehouse, token: string, login: string, email: string) =>
  service.call('POST', '/api/users', { token, body: { login, email } });
const put = (service: Gatehouse, token: string, user: object) =>
  service.call('PUT', '/api/users', { token, body: user });

async function twoUsers(
  service: Gatehouse,
  token: string,
  name: string,
): Promise<Received['body'][]> {
  const created = ['a', 'b'].map((end) =>
    create(service, token, `${name}-${end}`, `${name}-${end}@example.com`),
  );
  return (await Promise.all(created)).map(({ body }) => body);
}

const UNIQUENESS_RACES: Record<string, UniquenessRace> = {
  'that create a user with the same login': {
    error: 'error.userexists',
    prepare: async (service, token, name) =>
      ['a', 'b'].map((end) => () => create(service, token, name, `${name}-${end}@example.com`)),
  },
  'that create a user with the same e-mail address in two spellings': {
    error: 'error.emailexists',
    prepare: async (service, token, name) =>
      [`${name}@Example.com`, `${name.toUpperCase()}@example.com`].map(
        (email, index) => () => create(service, token, `${name}-${index}`, email),
      ),
  },
  'that rename two users to the same login': {
    error: 'error.userexists',
    prepare: async (service, token, name) =>
      (await twoUsers(service, token, name)).map(
        (user) => () => put(service, token, { ...user, login: name }),
      ),
  },
  'that change two users to the same e-mail address': {
    error: 'error.emailexists',
    prepare: async (service, token, name) =>
      (await twoUsers(service, token, name)).map(
        (user) => () => put(service, token, { ...user, email: `${name}@b.c` }),
      ),
  },
};

let rounds = 0;
/** Runs one round and returns the outcome of each request. */
async function runRound(
  service: Gatehouse,
  token: string,
  uniquenessRace: UniquenessRace,
  round: number,
): Promise<string[]> {
  const sends = await uniquenessRace.prepare(service, token, `taken-${++rounds}`);
  const responses = await race(round % 2 === 0, ...sends);
  return responses.map(({ status, body }) => (status < 300 ? 'taken' : body.message)).sort();
}

describe('two concurrent requests', () => {
  it.each(Object.entries(UNIQUENESS_RACES))(
    '%s: exactly one succeeds',
    async (_, uniquenessRace) => {
      for (let round = 0; round < ROUNDS; round++) {
        expect(await runRound(gatehouse, token, uniquenessRace, round), `round ${round}`).toEqual(
          [uniquenessRace.error, 'taken'].sort(),
        );
      }
    },
  );

  it('both succeed when they rename one user to the same login', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [user] = await twoUsers(gatehouse, token, `twice-${round}`);
      const rename = () => put(gatehouse, token, { ...user, login: `twice-${round}` });

      const responses = await race(round % 2 === 0, rename, rename);

      expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    }
  });
});

describe('a caller who is renamed while updating another user', () => {
  it('appears in the audit fields with the login at the time of the change', async () => {
    const name = 'renamed';
    const { user: caller, token: own } = await gatehouse.makeCaller(name, {
      authorities: ['ROLE_ADMIN'],
    });
    const { body: target } = await create(gatehouse, token, 'target', 'target@example.com');
    const names: string[] = [];

    for (let round = 0; round < ROUNDS; round++) {
      // The login becomes free for the other user only with the rename.
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
    it('gives one login to two users in the same rounds', async () => {
      const results: string[][] = [];

      const { assembly, remove } = await buildMutantStack(
        stackMutants['a login is checked before the write instead of by its condition'],
      );
      const racing = await startGatehouse({ intercept: barrier.intercept, assembly });
      const admin = await racing.logIn('admin');
      for (let round = 0; round < ROUNDS; round++) {
        results.push(
          await runRound(
            racing,
            admin,
            UNIQUENESS_RACES['that create a user with the same login'] as UniquenessRace,
            round,
          ),
        );
      }
      await racing.stop();
      remove();

      expect(results).toContainEqual(['taken', 'taken']);
    });
  });
}
