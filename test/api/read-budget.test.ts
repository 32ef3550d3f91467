import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Interceptor } from '../../infra/local/calls/aws-call.ts';
import { entityKey, readBudgetKey } from '../../lib/table/keys.ts';
import { readBudget } from '../../lib/table/read-budget.ts';
import { changeTotal, claim, put } from '../../lib/table/write.ts';
import { fillUsers } from '../support/fill-users.ts';
import { type Gatehouse, type Received, startGatehouse, useGatehouse } from '../support/gatehouse.ts';
import { LONG } from '../support/long.ts';

/* A caller who repeats the most expensive list must not exhaust the read throughput of a partition. */

let units = 0;
let decryptions = 0;
const intercept: Interceptor = async ({ functionName, operation, input }, forward) => {
  const response = await forward();
  const values = input.ExpressionAttributeValues as Record<string, { S: string }> | undefined;
  if (functionName?.startsWith('GET ') && operation === 'Query' && values?.[':pk']?.S !== 'JWKS') {
    units += Number(JSON.parse(String(response.body)).ConsumedCapacity?.CapacityUnits ?? 0);
  }
  if (operation === 'Decrypt') decryptions++;
  return response;
};
const shared = await useGatehouse({ breaksData: true, intercept });

describe('the read budget of a caller', () => {
  const gatehouse = shared;
  let caller = 1000;
  const payer = (id: number) => ({ id, requireAuthorized: async () => undefined });
  /** Spends units against a debt that takes `ahead` milliseconds to pay back; undefined means no stored budget. */
  async function spend(units: number, ahead: number | undefined) {
    const id = ++caller;
    const started = Date.now();
    const account = { paidBackAt: started + (ahead ?? 0), expires: 9_999_999_999 };
    if (ahead !== undefined) await gatehouse.table.transact([put(readBudgetKey(id), account)], crypto.randomUUID());
    await readBudget(gatehouse.table, payer(id))(units);
    const paidBackAt = (await gatehouse.table.get(readBudgetKey(id)))?.paidBackAt;
    return { waited: Date.now() - started, ahead: Number(paidBackAt) - started };
  }

  it.concurrent.each([
    ['nothing was spent before', undefined, 2200, 0],
    ['everything was paid back', -60_000, 2200, 0],
    ['half of the burst is spent', 2000, 4200, 0],
    ['slightly more than the burst is spent', 4500, 6700, 400],
    ['the wait is just acceptable', 5500, 7700, 1400],
  ])('recovers at 500 units a second after a read of 1,100 units when %s', async (_, before, after, waited) => {
    const spent = await spend(1100, before);

    expect(spent.ahead).toBeGreaterThanOrEqual(after);
    expect(spent.ahead).toBeLessThan(after + (before !== undefined && before > 0 ? 1 : 5000));
    expect(spent.waited).toBeGreaterThanOrEqual(waited);
    expect(spent.waited).toBeLessThan(waited + 5000);
  });

  it('rejects a read that would wait for more than three seconds, with the wait for Retry-After', async () => {
    await expect(spend(10, 7500)).rejects.toMatchObject({ code: 'read-budget-spent', retryAfter: 4 });
    await expect(spend(10, 60_000)).rejects.toMatchObject({ retryAfter: 56 });
  });

  it('counts every one of several concurrent reads', async () => {
    caller++;
    const now = Date.now();

    await Promise.all(Array.from({ length: 10 }, () => readBudget(gatehouse.table, payer(caller))(50)));

    const paidBackAt = (await gatehouse.table.get(readBudgetKey(caller)))?.paidBackAt;
    expect(Number(paidBackAt) - now).toBeGreaterThanOrEqual(1000);
    expect(Number(paidBackAt) - now).toBeLessThan(6000);
  });

  it('does not count reads of up to three units', async () => {
    caller++;
    await readBudget(gatehouse.table, payer(caller))(3);

    expect(await gatehouse.table.get(readBudgetKey(caller))).toBeUndefined();
  });
});

const USERS = LONG ? 10_000 : 200;

describe('a caller who repeats an expensive list', () => {
  let gatehouse: Gatehouse;
  let token: string;
  let reader: { id: number };
  let analyst: { id: number };
  beforeAll(async () => {
    gatehouse = LONG ? await startGatehouse({ breaksData: true, meterCapacity: true, intercept }) : shared;
    reader = await gatehouse.makeUser('reader', { authorities: ['ROLE_ADMIN', 'ROLE_USER'] });
    analyst = await gatehouse.makeUser('analyst', { authorities: ['ROLE_ANALYST'] });
    token = await gatehouse.logIn('reader');
    const admin = await gatehouse.adminToken();
    const post = (path: string, body: object) => gatehouse.call('POST', path, { token: admin, body });
    for (let n = 0; n < 20; n++) {
      const fields = { name: `Tap ${n}`, shortName: 'tap', integrationType: 'API' };
      await post('/api/utm-integrations', fields);
    }
    for (let n = 0; n < 60; n++) {
      await post('/api/utm-integration-confs', { integration: { id: 1 }, confName: `name ${n}`, confValue: 'value' });
    }
    const globes = (length: number) => '\u{1f310}'.repeat(length);
    const large = { name: globes(255), shortName: globes(255), description: globes(1000), integrationType: 'API' };
    for (let first = 1000; first < 1090; first += 30) {
      const integrations = Array.from({ length: 30 }, (_, n) =>
        claim(entityKey('INTEGRATION', first + n), { ...large, active: true, id: first + n }, 'unexpected'),
      );
      await gatehouse.table.transact([...integrations, changeTotal('INTEGRATION', 30)], crypto.randomUUID());
      // Each integration takes 12 of the 1,000 write units a second of a partition key.
      if (LONG) await wait(1000);
    }
    await fillUsers(gatehouse, USERS);
  }, 120_000);
  afterAll(() => (LONG ? gatehouse.stop() : undefined));

  const clear = async () => {
    const key = readBudgetKey(reader.id);
    await gatehouse.table.transact([{ act: 'Delete', key }], crypto.randomUUID());
  };

  const [CLIENTS, SECONDS] = [24, 3];
  /** Sends this request from all clients, as often as they can within SECONDS. */
  async function repeat(path: string): Promise<{ responses: Received[]; allowed: number }> {
    [units, decryptions] = [0, 0];
    await clear();
    const started = Date.now();
    const end = started + SECONDS * 1000;
    const clients = Array.from({ length: CLIENTS }, async () => {
      const responses = [];
      while (Date.now() < end) responses.push(await gatehouse.call('GET', path, { token }));
      return responses;
    });
    const responses = (await Promise.all(clients)).flat();
    // The burst, the units earned in that time, and one list that may start when the budget is almost spent.
    return { responses, allowed: 2000 + (500 * (Date.now() - started)) / 1000 + 250 };
  }
  const countOf = (responses: readonly Received[], status: number) =>
    responses.filter((response) => response.status === status).length;

  it.each([
    '/api/users?sort=login,asc',
    '/api/utm-integrations?name.contains=Tap',
    '/api/utm-integrations/count?name.contains=Tap',
    '/api/utm-integration-confs',
    '/api/utm-integration-confs/count?confName.contains=name',
    '/api/audits?actor.equals=admin',
  ])('gets 429 with Retry-After before anything is read: %s', async (path) => {
    const account = { paidBackAt: Date.now() + 60_000, expires: Math.ceil(Date.now() / 1000) + 120 };
    await gatehouse.table.transact([put(readBudgetKey(reader.id), account)], crypto.randomUUID());
    units = 0;

    const { status, headers, body } = await gatehouse.call('GET', path, { token });
    const unitsRead = units;
    const short = await gatehouse.call('GET', '/api/users', { token });

    expect([status, body.message, short.status]).toEqual([429, 'error.http.429', 200]);
    expect(unitsRead).toBe(0);
    expect(body.detail).toContain('long lists');
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(54);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(56);
  });

  it.each([
    '/api/utm-integrations?name.contains=Tap',
    '/api/utm-integrations/count?name.contains=Tap',
    '/api/utm-integration-confs/count?confName.contains=name',
    '/api/utm-integration-confs?integrationId.equals=1',
    '/api/audits?actor.equals=admin',
    '/api/users?page=1&size=50',
  ])('is charged for it: %s', async (path) => {
    await clear();

    const { status } = await gatehouse.call('GET', path, { token });

    expect(status).toBe(200);
    expect(await gatehouse.table.get(readBudgetKey(reader.id))).toBeDefined();
  });

  it('is charged one unit for each parameter value that KMS decrypts, in addition to the reads', async () => {
    await clear();
    const started = Date.now();

    await gatehouse.call('GET', '/api/utm-integration-confs?integrationId.equals=1&size=40', { token });

    // 60 units for the parameters of one integration and 40 for the page, at 500 units a second.
    const paidBackAt = (await gatehouse.table.get(readBudgetKey(reader.id)))?.paidBackAt as number;
    expect(paidBackAt - started).toBeGreaterThanOrEqual(200);
    expect(paidBackAt - Date.now()).toBeLessThanOrEqual(200);
  });

  it.each(['/api/users', '/api/users?size=20&page=0', '/api/utm-integrations?size=10', '/api/users/reader'])(
    'is not charged for a short list: %s',
    async (path) => {
      await clear();

      const { status } = await gatehouse.call('GET', path, { token });

      expect([status, await gatehouse.table.get(readBudgetKey(reader.id))]).toEqual([200, undefined]);
    },
  );

  it.each([
    ['a list without a match', '/api/utm-integrations/count?name.equals=a'],
    ['a long page', '/api/utm-integrations?size=90&sort=id,desc'],
    ['a short page', '/api/utm-integrations?size=14&sort=id,desc'],
  ])('is charged for large entities by what they cost: %s', async (_, path) => {
    await clear();
    const started = Date.now();
    units = 0;

    await gatehouse.call('GET', path, { token });

    const paidBackAt = (await gatehouse.table.get(readBudgetKey(reader.id)))?.paidBackAt as number;
    expect(units).toBeGreaterThan(20);
    expect(paidBackAt - started).toBeGreaterThanOrEqual((units - 3) * 2);
    expect(paidBackAt - Date.now()).toBeLessThanOrEqual(units * 2 + 10);
  });

  it('is not charged for a rejected request', async () => {
    const rejected = { token: await gatehouse.logIn('analyst') };

    const responses = [
      await gatehouse.call('GET', '/api/utm-integration-confs?size=100', rejected),
      await gatehouse.call('GET', '/api/utm-integration-confs/count?confName.contains=x', rejected),
      await gatehouse.call('GET', '/api/audits', rejected),
    ];

    expect(responses.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(await gatehouse.table.get(readBudgetKey(analyst.id))).toBeUndefined();
  });

  if (LONG) {
    it.each(['/api/users?lastName.contains=frau-1', '/api/users?size=2000'])(
      'reads no more than the budget allows: %s',
      { timeout: 60_000 },
      async (path) => {
        const { responses, allowed } = await repeat(path);

        expect(countOf(responses, 200)).toBeGreaterThan(3);
        expect(units).toBeGreaterThan(500);
        expect(units).toBeLessThan(allowed + 0.11 * USERS);
        // On a busy machine some requests end at their deadline with 503.
        expect(responses.map(({ status }) => status).filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
      },
    );

    it('causes a bounded number of decryptions in KMS', { timeout: 60_000 }, async () => {
      const { responses, allowed } = await repeat('/api/utm-integration-confs?size=100');

      expect(countOf(responses, 200)).toBeGreaterThan(3);
      // A page of 60 values costs 90 units for the reads and 100 for the decryptions.
      expect(decryptions).toBeLessThan((allowed / 190) * 60);
    });

    it('does not prevent other callers from logging in and changing users', { timeout: 60_000 }, async () => {
      const flood = repeat('/api/users?lastName.contains=frau-1');
      await wait(300);

      const statuses = [];
      const times = [];
      for (let n = 0; n < 5; n++) {
        const started = performance.now();
        const body = { username: 'admin', password: 'admin' };
        const login = await gatehouse.call('POST', '/api/authenticate', { body });
        const change = await gatehouse.call('POST', '/api/account', {
          token: login.body.id_token,
          body: { firstName: `Name ${n}` },
        });
        statuses.push(login.status, change.status);
        times.push(performance.now() - started);
      }
      await flood;

      expect(statuses).toEqual(Array(10).fill(200));
      expect(Math.max(...times)).toBeLessThan(4000);
    });
  }
});
