import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Received, useGatehouse } from './support/gatehouse.ts';
import { LONG } from './support/long.ts';

/* An account must not be able to delay its own deactivation by keeping its item busy with changes of its own. */

/** Runs before each transaction of these rows; the barrier that makes the account's change come first. */
let adversary: (() => Promise<unknown>) | undefined;
let tries = 0;
const gatehouse = useGatehouse({
  async intercept({ functionName, operation, input }, make) {
    const decides = functionName === 'PUT /api/users' || functionName === 'DELETE /api/users/{login}';
    if (adversary && decides && operation === 'TransactWriteItems' && !JSON.stringify(input).includes('PRECEDENCE')) {
      tries++;
      await adversary();
    }
    return make();
  },
});
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.logIn('admin');
});

const rename = (token: string, n: number) =>
  gatehouse.call('POST', '/api/account', { token, body: { firstName: `Name ${n}` } });
const createIntegration = (token: string) => {
  const body = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  return gatehouse.call('POST', '/api/utm-integrations', { token, body });
};
const update = (user: object) => gatehouse.call('PUT', '/api/users', { token: admin, body: user });
const remove = (login: string) => gatehouse.call('DELETE', `/api/users/${login}`, { token: admin });

describe('an account that changes itself before every try of an administrator', () => {
  it.each([
    ['deactivates', async (user: { login: string }) => (await update({ ...user, activated: false })).status],
    ['deletes', async ({ login }: { login: string }) => (await remove(login)).status],
  ])('does not hold up the one who %s it for more than two tries', async (what, act) => {
    const user = await gatehouse.makeUser(`nimble-${what}`);
    const token = await gatehouse.logIn(user.login);
    // A cold start could outlast the administrator's call, which is held meanwhile and then sent again.
    await rename(token, -1);
    const changes: Promise<Received>[] = [];
    tries = 0;
    adversary = async () => {
      const change = rename(token, changes.length);
      changes.push(change);
      // All but the first have to wait, and so do not come first.
      await (changes.length === 1 ? change : Promise.race([change, wait(400)]));
    };

    const status = await act(user).finally(() => {
      adversary = undefined;
    });

    const [first, ...others] = (await Promise.all(changes)).map((received) => received.status);
    expect([status, tries, first]).toEqual([200, 2, 200]);
    expect(others.filter((each) => each < 300)).toEqual([]);
  });

  it('goes on as before when the administrator is done', async () => {
    const user = await gatehouse.makeUser('patient');
    const token = await gatehouse.logIn('patient');
    await rename(token, -1);
    let waiting: Promise<Received> | undefined;
    let n = 0;
    adversary = async () => {
      waiting = rename(token, n++);
      await (n === 1 ? waiting : Promise.race([waiting, wait(400)]));
    };

    const { status } = await update({ ...user, lastName: 'Seen' }).finally(() => {
      adversary = undefined;
    });
    const own = await waiting;
    const { body } = await gatehouse.call('GET', '/api/account', { token });

    expect([status, own?.status, body.firstName, body.lastName]).toEqual([200, 200, `Name ${n - 1}`, 'Seen']);
  });
});

it(`an account that sends a stream of changes is deactivated${LONG ? ' within two seconds' : ''}`, {
  timeout: 60_000,
}, async () => {
  const user = await gatehouse.makeUser('busy', { authorities: ['ROLE_USER'] });
  // What a cold start takes on a busy machine is not what is tested.
  await update(user);
  const times = [];
  let successes = 0;
  for (let round = 0; round < (LONG ? 3 : 1); round++) {
    const token = await gatehouse.logIn('busy');
    let stopped = false;
    const workers = Array.from({ length: 16 }, async (_, worker) => {
      for (let n = 0; !stopped; n++) {
        const { status } = await (worker % 2 ? rename(token, n) : createIntegration(token));
        if (status < 300) successes++;
      }
    });
    await wait(500);

    const started = performance.now();
    const { status } = await update({ ...user, activated: false });
    times.push(performance.now() - started);
    stopped = true;
    await Promise.all(workers);

    expect(status).toBe(200);
    expect((await update({ ...user, activated: true })).status).toBe(200);
  }
  // How long it takes says nothing on a machine that does other things besides.
  if (LONG) expect(Math.max(...times)).toBeLessThan(2000);
  expect(successes).toBeGreaterThan(0);
});
