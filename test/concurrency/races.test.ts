import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Gatehouse,
  type Received,
  startGatehouse,
  useGatehouse,
} from '../support/instance/gatehouse.ts';
import { LONG } from '../support/instance/run-variables.ts';
import { openBarrier } from '../support/instance/barrier.ts';
import { buildMutantStack, stackMutants } from '../support/stack/mutants.ts';

/*
 * One race over HTTP for each rule that spans items; test/interleavings has every order of calls. A
 * barrier holds both transactions until both requests have read and decided, and then releases them
 * together or one after the other. Races for a version are in test/api/conditional.test.ts, for a
 * key in test/api/reset.test.ts and email-confirmation.test.ts, for a code in one-code.test.ts.
 */

const ROUNDS = 4;

const barrier = openBarrier();
const gatehouse = await useGatehouse({ intercept: barrier.intercept });
let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

/** Sends the requests at the same time: each succeeds or fails with a message. */
async function race(round: number, ...sends: (() => Promise<Received>)[]): Promise<string[]> {
  barrier.raise(sends.length, round % 2 === 0);
  const responses = await Promise.all(sends.map((send) => send().finally(barrier.lift)));
  return responses.map(({ status, body }) => (status < 300 ? 'made' : body.message));
}

const create = (service: Gatehouse, token: string, login: string, email: string) =>
  service.call('POST', '/api/users', { token, body: { login, email } });

const raceForLogin = (service: Gatehouse, token: string, round: number) => {
  const emails = ['a', 'b'].map((end) => `taken-${round}-${end}@example.com`);
  return race(
    round,
    ...emails.map((email) => () => create(service, token, `taken-${round}`, email)),
  );
};

describe('exactly one of two concurrent requests succeeds', () => {
  it('when both create a user with the same login', async () => {
    for (let round = 0; round < ROUNDS; round++)
      expect((await raceForLogin(gatehouse, token, round)).sort()).toEqual([
        'error.userexists',
        'made',
      ]);
  });

  it('when both create a user with the same e-mail address, in two spellings', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const emails = [`same-${round}@Example.com`, `SAME-${round}@example.com`];
      const creations = emails.map(
        (email, index) => () => create(gatehouse, token, `same-${round}-${index}`, email),
      );

      expect((await race(round, ...creations)).sort()).toEqual(['error.emailexists', 'made']);
    }
  });

  it('when the last two administrators both give up their role', async () => {
    const { user } = await gatehouse.makeCaller('second', { authorities: ['ROLE_ADMIN'] });
    const { body: admin } = await gatehouse.call('GET', '/api/users/admin', { token });
    const administrators = [admin, user];
    const put = async (login: string, body: object) =>
      gatehouse.call('PUT', '/api/users', { token: await gatehouse.tokenOf(login), body });

    for (let round = 0; round < ROUNDS; round++) {
      const outcomes = await race(
        round,
        ...administrators.map(
          (each) => () => put(each.login, { ...each, authorities: ['ROLE_USER'] }),
        ),
      );
      const former = administrators[outcomes.indexOf('made')];
      const last = administrators[outcomes.indexOf('error.lastadmin')];

      expect(outcomes.toSorted()).toEqual(['error.lastadmin', 'made']);
      expect((await put(last.login, former)).status).toBe(200);
    }
  });
});

it.runIf(LONG)('a mutant that checks a login before the write gives it to two users', async () => {
  const outcomes: string[][] = [];

  const { assembly, remove } = await buildMutantStack(
    stackMutants['a login is checked before the write instead of by its condition'],
  );
  const racing = await startGatehouse({ intercept: barrier.intercept, assembly });
  const admin = await racing.logIn('admin');
  for (let round = 0; round < ROUNDS; round++)
    outcomes.push(await raceForLogin(racing, admin, round));
  await racing.stop();
  remove();

  expect(outcomes).toContainEqual(['made', 'made']);
});
