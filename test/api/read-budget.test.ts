import { beforeAll, describe, expect, it } from 'vitest';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { Interceptor } from '../../infra/local/calls/aws-call.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { readBudget } from '../../lib/table/read-budget.ts';
import { changeTotal, claim } from '../../lib/table/write.ts';
import { importHere, integrationRecord } from '../support/commands/transfer.ts';
import { measureUnits } from '../support/costs/consumed-units.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { fillUsers, forgetReads, readsOf, setReads } from '../support/instance/items.ts';
import { RELEASE } from '../support/instance/run-variables.ts';

/*
 * A caller who repeats the most expensive request must not exhaust the read throughput of a
 * partition.
 */

/** The read units of entities and audit entries, and the decryptions of their values. */
let units = 0;
let decryptions = 0;
/** Whether the responses to what is given back are lost. */
let losesRefunds = false;
const intercept: Interceptor = async (call, forward) => {
  const { response, readUnits } = await measureUnits(call, forward);
  if (losesRefunds && /":amount":{"N":"-/.test(JSON.stringify(call.input)))
    return { ...response, cut: 'before' };
  const isOverhead = actionsOf(call).every(({ pk }) => /^(TOTAL|READS#|CHANGES#)/.test(String(pk)));
  const isCaller =
    call.operation === 'BatchGetItem' &&
    actionsOf(call).some(({ pk }) => String(pk).startsWith('SESSION#'));
  if (call.functionName && !isOverhead && !isCaller) units += readUnits;
  if (call.operation === 'Decrypt') decryptions++;
  return response;
};
const gatehouse = await useGatehouse({ breaksData: true, intercept });

describe('the count of a window', () => {
  const { table } = gatehouse;
  let lastId = 1000;
  const newCaller = () => ({ id: ++lastId, requireAuthorized: async () => undefined });

  it.concurrent('has every one of several concurrent charges', async () => {
    const caller = newCaller();
    const budget = readBudget(table, caller);

    await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? budget.spend(50) : budget.settle(50))),
    );

    expect(await readsOf(table, caller.id)).toBe(500);
  });

  it.concurrent('does not exceed 4,096 units, unless a read costs more than expected', async () => {
    const caller = newCaller();
    const budget = readBudget(table, caller);

    const most = await Promise.allSettled(Array.from({ length: 50 }, () => budget.spend(100)));
    await budget.settle(50);

    expect(most.filter(({ status }) => status === 'fulfilled')).toHaveLength(40);
    expect(await readsOf(table, caller.id)).toBe(4050);
    await expect(budget.spend(46)).resolves.toBe(46);
    await expect(budget.spend(5)).rejects.toMatchObject({ code: 'read-budget-spent' });
  });

  it.concurrent('passes on to the next window what a read has cost beyond this one', async () => {
    const caller = newCaller();
    const budget = readBudget(table, caller);
    await budget.spend(4000);

    await Promise.all(Array.from({ length: 4 }, () => budget.settle(1000)));

    // 8,000 in this window, of which the next one is charged the 3,904 beyond 4,096.
    expect(await readsOf(table, caller.id)).toBe(8000 + 3904);
  });
});

const PARAMETERS = '/api/utm-integration-confs';

describe('a caller who repeats an expensive request', () => {
  let token: string;
  let reader: { id: number };
  let analyst: { id: number };
  let large: { id: number; integration: { id: number } };
  beforeAll(async () => {
    reader = await gatehouse.makeUser('reader', { authorities: ['ROLE_ADMIN', 'ROLE_USER'] });
    analyst = await gatehouse.makeUser('analyst', { authorities: ['ROLE_ANALYST'] });
    token = await gatehouse.logIn('reader');
    const taps = Array.from({ length: 20 }, (_, n) =>
      integrationRecord(`Tap ${n}`, n ? [] : Array(60).fill('value')),
    );
    expect((await importHere(gatehouse, taps)).rejected).toEqual([]);
    const parameter = { integration: { id: 2 }, confName: 'large', confValue: 'x'.repeat(16_384) };
    large = (await gatehouse.call('POST', PARAMETERS, { token, body: parameter })).body;
    const globes = (length: number) => '\u{1f310}'.repeat(length);
    const longest = {
      name: globes(255),
      shortName: globes(255),
      description: globes(1000),
      integrationType: 'API',
    };
    const integrations = Array.from({ length: 90 }, (_, n) => {
      const id = 1000 + n;
      return claim(entityKey('INTEGRATION', id), { ...longest, active: true, id }, 'unexpected');
    });
    await commit(gatehouse.table, [...integrations, changeTotal('INTEGRATION', 90)]);
    await fillUsers(gatehouse, 200);
  }, 120_000);

  const clear = () => forgetReads(gatehouse.table, reader.id);
  const charged = () => readsOf(gatehouse.table, reader.id);
  /** A PUT changes the large parameter. */
  const send = (request: string, as = token, headers = {}) => {
    const [method = '', path = ''] = request.split(' ');
    const body = method === 'PUT' ? { ...large, confValue: 'other' } : undefined;
    return gatehouse.call(method, path, { token: as, body, headers });
  };
  const STALE = { 'If-Match': '"0-stale"' };

  it.each([
    'GET /api/users',
    'GET /api/users?page=1',
    'GET /api/utm-integrations?name.contains=Tap',
    'GET /api/utm-integrations/count',
    'GET /api/utm-integration-confs',
    'GET /api/utm-integration-confs/2000001',
    'PUT /api/utm-integration-confs',
    'DELETE /api/utm-integration-confs/2000001',
    'DELETE /api/utm-integrations/2',
    'GET /api/audits?size=1',
    'GET /api/audits?actor.equals=admin',
  ])('gets 429 with Retry-After at once and before anything is read: %s', async (request) => {
    await setReads(gatehouse.table, reader.id, 4096);
    [units, decryptions] = [0, 0];

    const { status, headers, body } = await send(request);

    expect([status, body.message, units, decryptions]).toEqual([429, 'error.http.429', 0, 0]);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(8);
  });

  it('is charged for its reads, and once for all values under one data key', async () => {
    await clear();
    [units, decryptions] = [0, 0];

    await send('GET /api/utm-integration-confs?integrationId.equals=1&size=40');

    const cost = await charged();
    expect(decryptions).toBe(1);
    expect(cost).toBeGreaterThanOrEqual(units + 1 - 6);
    expect(cost).toBeLessThanOrEqual(units + 1);
  });

  it.each(['/api/users', '/api/utm-integrations?size=10', '/api/users/reader'])(
    'is not charged for a short list: %s',
    async (path) => {
      await clear();

      const { status } = await send(`GET ${path}`);

      expect([status, await charged()]).toEqual([200, 0]);
    },
  );

  it.each([
    ['a list without a match', 'GET /api/utm-integrations/count?name.equals=a', 200],
    ['a long page', 'GET /api/utm-integrations?size=90&sort=id,desc', 200],
    ['one parameter', 'GET /api/utm-integration-confs/2000001', 200],
    ['a rejected update', 'PUT /api/utm-integration-confs', 412],
    ['a rejected deletion', 'DELETE /api/utm-integration-confs/2000001', 412],
  ])('is charged for large entities by what they cost: %s', async (_, request, expected) => {
    await clear();
    units = 0;

    const { status } = await send(request, token, expected === 412 ? STALE : {});

    const cost = await charged();
    expect([status, units > 3]).toEqual([expected, true]);
    expect(cost).toBeGreaterThanOrEqual(units - 3);
    expect(cost).toBeLessThanOrEqual(units + 5);
  });

  it.skipIf(RELEASE)('is given back what a filter of the audit trail could have read', async () => {
    await clear();
    units = 0;

    await send('GET /api/audits?target.equals=user/1');

    expect(await charged()).toBeCloseTo(units);
  });

  it.skipIf(RELEASE)('is given back once if the responses to it are lost', async () => {
    await clear();
    units = 0;
    losesRefunds = true;

    const { status } = await send('GET /api/audits?target.equals=user/1');
    losesRefunds = false;

    expect([status, await charged()]).toEqual([200, units]);
  });

  it('is charged for parameters that a deletion reads; a stale If-Match reads none', async () => {
    await clear();
    units = 0;

    const stale = await send('DELETE /api/utm-integrations/1', token, STALE);
    const [unitsOfStale, costOfStale] = [units, await charged()];
    const deleted = await send('DELETE /api/utm-integrations/2');

    expect([stale.status, unitsOfStale, costOfStale]).toEqual([412, 1, 0]);
    expect([deleted.status, (await charged()) > 4]).toEqual([200, true]);
  });

  it('is not charged for a rejected request', async () => {
    const rejected = await gatehouse.logIn('analyst');

    for (const request of [
      'GET /api/utm-integration-confs?size=100',
      'GET /api/utm-integration-confs/count?confName=a',
      'GET /api/utm-integration-confs/1000001',
      'GET /api/audits',
      'DELETE /api/utm-integrations/1',
    ])
      expect((await send(request, rejected)).status).toBe(403);
    expect(await readsOf(gatehouse.table, analyst.id)).toBe(0);
  });
});
