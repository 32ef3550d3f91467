import { beforeAll, describe, expect, it } from 'vitest';
import type { User } from '../../lib/users/user.ts';
import { rosterKey } from '../../lib/users/user-items.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openBarrier, openMeanwhile } from '../support/instance/hold-transactions.ts';
import type { Received } from '../support/instance/launch.ts';
import { logInForm, testProvider } from '../support/instance/provider.ts';
import { RELEASE } from '../support/instance/run-variables.ts';

/*
 * One race over HTTP for each rule that spans items; test/interleavings has every order of calls. A
 * barrier holds both transactions until both requests have read and decided, and then releases them
 * together or one after the other. In test/api, races for a version are in conditional.test.ts, for
 * a key in reset.test.ts, and for a code in second-factor.test.ts.
 */

const ROUNDS = 4;

const barrier = openBarrier();
/** Invitations are mailed in the background, by transactions of another function. */
const meanwhile = openMeanwhile(({ functionName }) => functionName === 'POST /api/users');
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    await meanwhile.before(call);
    return barrier.intercept(call, forward);
  },
});
let token: string;
/** The only administrator besides `admin`. */
let second: User;
beforeAll(async () => {
  token = await gatehouse.adminToken();
  second = await gatehouse.makeUser('second', { authorities: ['ROLE_ADMIN'] });
});

/** Sends the requests at the same time: each succeeds or fails with a message. */
async function race(round: number, ...sends: (() => Promise<Received>)[]): Promise<string[]> {
  barrier.raise(sends.length, round % 2 === 0);
  const responses = await Promise.all(sends.map((send) => send().finally(barrier.lift)));
  return responses.map(({ status, body }) => (status < 300 ? 'made' : body.message));
}

const create = (login: string, email: string) =>
  gatehouse.call('POST', '/api/users', { token, body: { login, email } });

describe('exactly one of two concurrent requests succeeds', () => {
  it('when both create a user with the same login', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const emails = ['a', 'b'].map((end) => `taken-${round}-${end}@example.com`);
      const creations = emails.map((email) => () => create(`taken-${round}`, email));

      expect((await race(round, ...creations)).sort()).toEqual(['error.userexists', 'made']);
    }
  });

  it('when both create a user with the same e-mail address, in two spellings', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const emails = [`same-${round}@Example.com`, `SAME-${round}@example.com`];
      const creations = emails.map((email, index) => () => create(`same-${round}-${index}`, email));

      expect((await race(round, ...creations)).sort()).toEqual(['error.emailexists', 'made']);
    }
  });

  it('when the last two administrators both give up their role', async () => {
    const { body: admin } = await gatehouse.call('GET', '/api/users/admin', { token });
    const administrators = [admin, second];
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

// The release has no identities of people.
it.skipIf(RELEASE)(
  'one of the last two administrators remains if the groups of both are emptied',
  async () => {
    const provider = testProvider();
    const { issuer } = provider.issuer;
    const logIn = (subject: string, ...groups: string[]) =>
      gatehouse.call('POST', '/api/oauth2/token', {
        body: logInForm(provider, { sub: subject, groups }),
      });
    const logins = ['admin', 'second'];
    for (const [index, subject] of logins.entries())
      await gatehouse.call('POST', `/api/users/${subject}/identities`, {
        token: await gatehouse.tokenOf(logins[1 - index] as string),
        body: { issuer, subject },
      });

    for (let round = 0; round < ROUNDS; round++) {
      // A mail of the round before would take a place at the barrier.
      await gatehouse.cloud.mailsHandedOver();
      const outcomes = await race(round, ...logins.map((login) => () => logIn(login, 'users')));
      const roster = await gatehouse.table.get(rosterKey);
      for (const login of logins) await logIn(login, 'users', 'admins');

      expect(outcomes).toEqual(['made', 'made']);
      expect(roster?.ids).toHaveProperty('size', 1);
      expect((await gatehouse.table.get(rosterKey))?.ids).toHaveProperty('size', 2);
    }
  },
);

it('a change is rejected with 403 if its caller is demoted before it is committed', async () => {
  const { user, token: own } = await gatehouse.makeCaller('doomed', {
    authorities: ['ROLE_ADMIN'],
  });
  const body = { login: 'late', email: 'late@example.com' };

  const { status } = await meanwhile.during(
    () => gatehouse.call('POST', '/api/users', { token: own, body }),
    () => gatehouse.call('PUT', '/api/users', { token, body: { ...user, authorities: [] } }),
  );

  expect(status).toBe(403);
  expect((await gatehouse.call('GET', '/api/users/late', { token })).status).toBe(404);
});
