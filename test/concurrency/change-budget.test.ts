import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';
import { repeatWhileBusy } from '../support/instance/repeat-while-busy.ts';

/*
 * A stream of changes by one account must not prevent its deactivation, its deletion or the reset
 * of its password.
 */

let gatehouse: Gatehouse;
let admin: string;
beforeAll(async () => {
  gatehouse = await startGatehouse({ limitsChanges: true });
  admin = await gatehouse.adminToken();
});
afterAll(() => gatehouse.stop());

const rename = (token: string, n: number) =>
  gatehouse.call('POST', '/api/account', { token, body: { firstName: `Name ${n}` } });

it('an account can make 50 changes in 10 seconds; 429 names the seconds until more', async () => {
  await gatehouse.makeUser('eager');
  const token = await gatehouse.logIn('eager');

  let accepted = 0;
  let rejected = await rename(token, 0);
  for (; rejected.status === 200; accepted++) rejected = await rename(token, accepted);

  // A machine that makes fewer than 50 in a window never sees a rejection; this one did.
  expect(accepted).toBeGreaterThanOrEqual(50);
  expect(rejected).toMatchObject({ status: 429, body: { message: 'error.http.429' } });
  expect(Number(rejected.headers['retry-after'])).toBeLessThanOrEqual(10);
  const others = [
    await gatehouse.call('GET', '/api/account', { token }),
    await gatehouse.call('POST', '/api/logout', { token }),
  ];
  expect(others.map(({ status }) => status)).toEqual([200, 200]);
});

it.each([
  [
    'deactivated',
    (user: object) =>
      gatehouse.call('PUT', '/api/users', { token: admin, body: { ...user, activated: false } }),
  ],
  [
    'deleted',
    ({ login }: { login: string }) =>
      gatehouse.call('DELETE', `/api/users/${login}`, { token: admin }),
  ],
  [
    'given a new password',
    async ({ email }: { email: string }) => {
      const requested = { body: email, headers: { 'Content-Type': 'text/plain' } };
      await gatehouse.call('POST', '/api/account/reset-password/init', requested);
      const key = await gatehouse.keyMailedTo(email);
      const newPassword = 'a new password';
      return gatehouse.call('POST', '/api/account/reset-password/finish', {
        body: { key, newPassword },
      });
    },
  ],
])('an account that sends a stream of changes can be %s', async (name, act) => {
  const login = `busy-${name.slice(0, 5)}`;
  const user = await gatehouse.makeUser(login);
  const token = await gatehouse.logIn(login);
  let stopped = false;
  const statuses = new Set<number>();
  const workers = Array.from({ length: 16 }, async (_, worker) => {
    for (let n = 0; !stopped; n++) statuses.add((await rename(token, 100 * worker + n)).status);
  });

  const { status } = await repeatWhileBusy(() => act(user)).finally(() => {
    stopped = true;
  });
  await Promise.all(workers);

  expect(status).toBe(200);
  expect(statuses).toContain(200);
});
