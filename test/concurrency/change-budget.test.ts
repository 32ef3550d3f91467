import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { type Gatehouse, repeatWhileBusy } from '../support/instance/launch.ts';

/*
 * A stream of changes by one account must not prevent changes of it by others, such as its
 * deactivation.
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

it('an account that sends a stream of changes can be deactivated', async () => {
  const user = await gatehouse.makeUser('busy');
  const token = await gatehouse.logIn('busy');
  let stopped = false;
  const statuses = new Set<number>();
  const workers = Array.from({ length: 16 }, async (_, worker) => {
    for (let n = 0; !stopped; n++) statuses.add((await rename(token, 100 * worker + n)).status);
  });

  const body = { ...user, activated: false };
  const { status } = await repeatWhileBusy(() =>
    gatehouse.call('PUT', '/api/users', { token: admin, body }),
  ).finally(() => {
    stopped = true;
  });
  await Promise.all(workers);

  expect(status).toBe(200);
  expect(statuses).toContain(200);
});
