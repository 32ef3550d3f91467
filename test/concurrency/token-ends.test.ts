import { beforeAll, expect, it } from 'vitest';
import type { User } from '../../lib/users/user.ts';
import { useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { repeatWhileBusy } from '../support/instance/launch.ts';
import { LONG } from '../support/instance/run-variables.ts';

/*
 * API tokens in use while they end: no request that is sent after the response of the ending
 * request succeeds. With LONG=1, 100,000 such requests.
 */

const [ROUNDS, REQUESTS] = LONG ? [200, 100] : [2, 40];
const SENDERS = 6;

const gatehouse = await useGatehouse();
let admin: string;
const setup = useSetup(gatehouse);
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

type End = (user: User, session: string, series: string) => Promise<{ status: number }>;
const send = (method: string, path: string, token: string, body?: object) => () =>
  gatehouse.call(method, path, { token, body });
const asAdmin = (method: string, path: string, body?: object) =>
  repeatWhileBusy(send(method, path, admin, body));
const update = ({ id, login, email }: User, fields: object) =>
  asAdmin('PUT', '/api/users', { id, login, email, ...fields });

it.each<[string, End, number]>([
  ['deactivation', (user) => update(user, { activated: false }), 401],
  ['demotion', (user) => update(user, { authorities: ['ROLE_ANALYST'] }), 403],
  ['deletion', ({ login }) => asAdmin('DELETE', `/api/users/${login}`), 401],
  ['end of all sessions', ({ login }) => asAdmin('POST', `/api/users/${login}/end-sessions`), 401],
  [
    'deletion of the token',
    (_, session, series) =>
      repeatWhileBusy(send('POST', `/api/account/tokens/${series}/delete`, session)),
    401,
  ],
])('no request succeeds after the response of a %s', async (_, end, status) => {
  const before = new Set<number>();
  const after = new Map<number, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const { user, token: session } = await setup.account({ authorities: ['ROLE_ADMIN'] });
    const { token, series } = await setup.apiToken(user);
    const requests = [
      send('GET', '/api/users/authorities', token),
      send('POST', '/api/utm-integrations', token, INTEGRATION),
      send('GET', '/api/audits?size=1', token),
    ];
    let isEnded = false;
    let left = REQUESTS;
    const senders = Array.from({ length: SENDERS }, async (_, sender) => {
      for (let n = sender; left > 0; n++) {
        const isLater = isEnded;
        if (isLater) left--;
        const { status } = await (requests[n % requests.length] as (typeof requests)[0])();
        if (isLater) after.set(status, (after.get(status) ?? 0) + 1);
        else before.add(status);
      }
    });
    await requests[0]?.();

    const ended = await end(user, session, series);
    isEnded = true;

    expect(ended.status).toBe(200);
    await Promise.all(senders);
  }

  expect(before).toContain(200);
  expect(before).toContain(201);
  const total = [...after.values()].reduce((sum, n) => sum + n, 0);
  expect(total).toBeGreaterThanOrEqual(ROUNDS * REQUESTS);
  // A slow machine can run out of time.
  expect([...after.keys()].filter((each) => each !== 503)).toEqual([status]);
});
