import { beforeAll, describe, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { isOfRequest } from '../support/costs/consumed-units.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openSetup } from '../support/instance/setup.ts';

/* What repeated requests of a refused token cost, and what a throttled read does. */

const faults = openFaults();
let calls = 0;
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    if (isOfRequest(call)) calls++;
    return faults.intercept(call, forward);
  },
});

let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

/** The status of a request, and the calls to AWS that it makes. */
async function request(method: string, path: string, token: string) {
  calls = 0;
  const { status } = await gatehouse.call(method, path, { token });
  return { status, calls };
}

/**
 * Expects that a token is refused without a call. Functions remember for ten seconds, which a slow
 * machine may need between two requests.
 */
async function expectNoCall(token: string, path = '/api/account') {
  await expect.poll(() => request('GET', path, token)).toEqual({ status: 401, calls: 0 });
}

const asAdmin = () => ({ token: admin });
const ACTIONS: [string, (login: string, token: string) => Promise<unknown>][] = [
  ['an ended session', (_, token) => gatehouse.call('POST', '/api/logout', { token })],
  ['a deleted user', (login) => gatehouse.call('DELETE', `/api/users/${login}`, asAdmin())],
  ['a deactivated user', (login) => activate(login, false)],
];

async function activate(login: string, activated: boolean) {
  const { body } = await gatehouse.call('GET', `/api/users/${login}`, asAdmin());
  await gatehouse.call('PUT', '/api/users', { ...asAdmin(), body: { ...body, activated } });
}

describe('a token', () => {
  it.each(ACTIONS)('of %s that was refused is refused again without a call', async (name, end) => {
    const login = name.replaceAll(' ', '-');
    const { token } = await gatehouse.makeCaller(login);
    await end(login, token);
    const first = await request('GET', '/api/account', token);

    await expectNoCall(token);
    expect(first.status).toBe(401);
    expect(first.calls).toBeGreaterThan(0);
  });

  it('of an ended session can be ended again, which does not read its user', async () => {
    const { token } = await gatehouse.makeCaller('leaver');
    await request('POST', '/api/logout', token);
    const first = await request('POST', '/api/logout', token);

    const again = () => request('POST', '/api/logout', token);

    expect(first).toEqual({ status: 200, calls: 2 });
    await expect.poll(again).toEqual({ status: 200, calls: 1 });
  });

  it('of a later session is valid at once, also of a user who was reactivated', async () => {
    const { token } = await gatehouse.makeCaller('returner');
    await activate('returner', false);
    await request('GET', '/api/account', token);
    for (const activated of [true, false, true]) await activate('returner', activated);

    const later = await request('GET', '/api/account', await gatehouse.tokenOf('returner'));

    expect(later.status).toBe(200);
    await expectNoCall(token);
  });

  it('of a module without its credential is refused again without a call', async () => {
    const setup = await openSetup(gatehouse);
    const id = await setup.integration(0);
    const { token } = await setup.module(id);
    await gatehouse.call('DELETE', `/api/utm-integrations/${id}`, asAdmin());
    const path = `/api/utm-integrations/${id}/module`;
    const first = await request('GET', path, token);

    expect(first.status).toBe(401);
    await expectNoCall(token, path);
  });
});

it('a throttled read is repeated once, then answered with 503', async () => {
  await request('GET', '/api/account', admin);
  faults.inject([{ operation: 'BatchGetItem', fault: 'throttle' }]);

  const throttled = await request('GET', '/api/account', admin);

  faults.inject([]);
  expect(throttled).toEqual({ status: 503, calls: 2 });
});
