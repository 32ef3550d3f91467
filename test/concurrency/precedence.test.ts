import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Received, useGatehouse } from '../support/gatehouse.ts';
import { LONG } from '../support/long.ts';

/* Changing its own item continuously must not delay the deactivation of an account, nor the reset of its password. */

/**
 * Runs before each transaction that updates or deletes a user, or sets a password with a mailed key, so that the
 * account's own change always commits first.
 */
let adversary: (() => Promise<unknown>) | undefined;
let attempts = 0;
const DECIDING = ['PUT /api/users', 'DELETE /api/users/{login}', 'POST /api/account/reset-password/finish'];
const gatehouse = await useGatehouse({
  async intercept({ functionName, operation, input }, forward) {
    if (
      adversary &&
      DECIDING.includes(functionName ?? '') &&
      operation === 'TransactWriteItems' &&
      !JSON.stringify(input).includes('PRECEDENCE')
    ) {
      attempts++;
      await adversary();
    }
    return forward();
  },
});
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

const rename = (token: string, n: number) =>
  gatehouse.call('POST', '/api/account', { token, body: { firstName: `Name ${n}` } });
const createIntegration = (token: string) => {
  const body = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  return gatehouse.call('POST', '/api/utm-integrations', { token, body });
};
const update = (user: object) => gatehouse.call('PUT', '/api/users', { token: admin, body: user });
const remove = (login: string) => gatehouse.call('DELETE', `/api/users/${login}`, { token: admin });
const resetPassword = async (email: string) => {
  const body = { key: await gatehouse.keyMailedTo(email), newPassword: 'new password' };
  return gatehouse.call('POST', '/api/account/reset-password/finish', { body });
};

describe('an account that changes itself before every attempt of a change that takes precedence', () => {
  it.each([
    ['deactivation', async (user: { login: string }) => (await update({ ...user, activated: false })).status],
    ['deletion', async ({ login }: { login: string }) => (await remove(login)).status],
    ['reset', async ({ email }: { email: string }) => (await resetPassword(email)).status],
  ])('delays its %s by at most one retry', async (verb, act) => {
    const { user, token } = await gatehouse.makeCaller(`nimble-${verb}`);
    // Warms the function up: a cold start could outlast the administrator's held call, which the SDK would then retry.
    await rename(token, -1);
    const changes: Promise<Received>[] = [];
    attempts = 0;
    adversary = async () => {
      const change = rename(token, changes.length);
      changes.push(change);
      // From the second change on, the administrator has precedence, so the account has to wait.
      await (changes.length === 1 ? change : Promise.race([change, wait(400)]));
    };

    const status = await act(user).finally(() => {
      adversary = undefined;
    });

    const [first, ...others] = (await Promise.all(changes)).map((received) => received.status);
    expect([status, attempts, first]).toEqual([200, 2, 200]);
    expect(others.filter((each) => each < 300)).toEqual([]);
  });

  it('can change itself again once the administrator is done', async () => {
    const { user, token } = await gatehouse.makeCaller('patient');
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

it(`an administrator can deactivate an account that sends a stream of changes${LONG ? ' within two seconds' : ''}`, {
  timeout: 60_000,
}, async () => {
  const { user, token } = await gatehouse.makeCaller('busy', { authorities: ['ROLE_USER'] });
  // Warms the function up, so that the measurement excludes a cold start.
  await update(user);
  const times = [];
  let successes = 0;
  for (let round = 0; round < (LONG ? 3 : 1); round++) {
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
  // Durations mean little on a machine that runs other tests at the same time.
  if (LONG) expect(Math.max(...times)).toBeLessThan(2000);
  expect(successes).toBeGreaterThan(0);
});
