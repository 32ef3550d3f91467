import { afterAll, describe, expect, it } from 'vitest';
import { measureUnits } from '../support/costs/consumed-units.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { fillUsers, forgetReads } from '../support/instance/items.ts';
import type { Gatehouse } from '../support/instance/launch.ts';

/*
 * Measures the cost of a list as the number of users grows, and of a plan. The sizes in
 * docs/performance.md take minutes:
 *
 *   LIST_SIZES=100,10000,100000 npx vitest run test/api/list-costs.test.ts
 */

const SIZES = (process.env.LIST_SIZES ?? '100,1000').split(',').map(Number);

interface Cost {
  calls: number;
  /** Read capacity units; reading one item of up to 4 KB consumes one. */
  units: number;
}
let cost: Cost = { calls: 0, units: 0 };

const gatehouse: Gatehouse = await startGatehouse({
  breaksData: true,
  async intercept(call, forward) {
    const { response, readUnits } = await measureUnits(call, forward);
    if (call.functionName !== undefined && readUnits > 0)
      cost = { calls: cost.calls + 1, units: cost.units + readUnits };
    return response;
  },
});
afterAll(() => gatehouse.stop());
const token = await gatehouse.adminToken();
await gatehouse.call('GET', '/api/users', { token });

/** As after a long pause. */
const forgetBudget = () => forgetReads(gatehouse.table, 1);

async function measure(path: string): Promise<Cost & { status: number; next: string | undefined }> {
  cost = { calls: 0, units: 0 };
  const { status, headers } = await gatehouse.call('GET', path, { token });
  return { ...cost, status, next: /<([^>]*)>; rel="next"/.exec(headers.link ?? '')?.[1] };
}

describe('the cost of a list', () => {
  const table: Record<string, Record<number, string>> = {};
  const first: Cost[] = [];
  const afterCursor: Cost[] = [];

  it.each(SIZES)('is measured for %i users', { timeout: 600_000 }, async (size) => {
    await fillUsers(gatehouse, size);
    const note = (request: string, { status, calls, units }: Cost & { status: number }) => {
      table[request] = {
        ...table[request],
        [size]: status === 200 ? `${calls} calls, ${units} units` : 'rejected',
      };
    };

    const page0 = await measure('/api/users');
    const cursor = await measure(page0.next ?? '');
    note('page 0', page0);
    note('next, by its cursor', cursor);
    note('the last page', await measure(`/api/users?page=${Math.ceil(size / 20) - 1}`));
    note('the page in the middle', await measure(`/api/users?page=${Math.floor(size / 40)}`));
    note('sort=login', await measure('/api/users?sort=login'));
    note('lastName.contains=frau-1', await measure('/api/users?lastName.contains=frau-1'));
    await forgetBudget();
    note('lastName.contains=nobody', await measure('/api/users?lastName.contains=nobody'));
    note('login.equals=admin', await measure('/api/users?login.equals=admin'));
    first.push({ calls: page0.calls, units: page0.units });
    afterCursor.push({ calls: cursor.calls, units: cursor.units });

    expect([page0.status, cursor.status]).toEqual([200, 200]);
  });

  it('does not grow for the first page and after a cursor', () => {
    if (process.env.LIST_SIZES) console.table(table);

    expect(first[0]?.calls).toBe(3);
    for (const costs of [first, afterCursor]) {
      for (const each of costs) {
        expect(each.calls).toBe(costs[0]?.calls);
        // Ids have a few more digits in a table of 100,000 users than in one of 100.
        expect(Math.abs(each.units - (costs[0]?.units ?? 0))).toBeLessThanOrEqual(1);
      }
    }
  });
});

it('costs at most as much to plan what exists as to list it', async () => {
  const parameters = Array.from({ length: 5 }, (_, index) => ({
    confName: `p${index}`,
    confValue: 'value',
  }));
  const integrations = Array.from({ length: 20 }, (_, index) => ({
    name: `Tap ${index}`,
    shortName: 'tap',
    integrationType: 'API',
    parameters,
  }));
  const sent = { token, body: { set: 'costs', integrations } };
  const plan = () => gatehouse.call('POST', '/api/plan', sent);
  const headers = { 'If-Match': `"${(await plan()).body.digest}"` };
  await gatehouse.call('POST', '/api/apply', { ...sent, headers });

  cost = { calls: 0, units: 0 };
  const { body } = await plan();
  const { units } = cost;
  const listed = await measure('/api/utm-integrations?size=20');
  const values = await measure('/api/utm-integration-confs?size=100');

  expect(body.unchanged).toBe(120);
  expect(units).toBeLessThanOrEqual(listed.units + values.units);
});
