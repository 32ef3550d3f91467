import { beforeAll, describe, expect, it } from 'vitest';
import { isOfRequest, measureUnits } from '../support/costs/consumed-units.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { forgetReads } from '../support/instance/items.ts';

/* Filters of users that are answered by keys, in a list of any length. */

let cost = { calls: 0, units: 0 };
let operations: string[] = [];
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    if (call.functionName !== 'GET /api/users') return forward();
    const { response, readUnits } = await measureUnits(call, forward);
    if (readUnits > 0) cost = { calls: cost.calls + 1, units: cost.units + readUnits };
    if (isOfRequest(call)) operations.push(call.operation);
    return response;
  },
});

let token: string;
async function get(path: string) {
  // A filter that reads all users spends much of the budget.
  await forgetReads(gatehouse.table, 1);
  return gatehouse.call('GET', path, { token });
}
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

describe('a filter by login, address or id', () => {
  beforeAll(async () => {
    const make = (login: string, email: string) =>
      gatehouse.call('POST', '/api/users', { token, body: { login, email } });
    await make('Anna', 'Anna@B\u00fccher.example');
    await make('K', 're\u0301ne@example.com');
  });
  it.each([
    ['login', ['Anna', 'anna', 'K', '\u212a', '', 'nobody', 'x'.repeat(5000), ' Anna']],
    [
      'email',
      ['Anna@B\u00fccher.example', 'anna@b\u00fccher.example', 'Anna@xn--bcher-kva.example'],
    ],
    ['email', ['r\u00e9ne@example.com', 're\u0301ne@example.com', 'rene@example.com']],
    ['email', ['', '@', 'x'.repeat(5000), `${'\ufdfa'.repeat(254)}@example.com`]],
    ['id', [1, 2, 4, 999_999, 0, -1, Number.MAX_SAFE_INTEGER]],
  ])('selects what a filter that reads all users does: %s %j', async (field, values) => {
    const counts = new Map<string, number>();
    for (const value of values) {
      const query = `/api/users?${new URLSearchParams({ [field]: String(value) })}&size=1`;
      // Neither lists of values nor, of ids, more than a hundred are looked up by keys.
      const many = field === 'id' ? ',0'.repeat(100) : '';
      const list = new URLSearchParams({ [`${field}.in`]: `${value}${many}` });
      const scanned = await get(`/api/users?${list}&size=1`);

      const found = await get(query);

      expect([found.status, found.body], query).toEqual([scanned.status, scanned.body]);
      expect(found.headers['x-total-count']).toBe(scanned.headers['x-total-count']);
      const link = scanned.headers.link?.replaceAll('.in=', '=').replaceAll('%2C0', '');
      expect(found.headers.link).toBe(link);
      counts.set(String(value), found.body.length);
    }
    expect(counts.get(String(values[0]))).toBe(values[0] === '' ? 0 : 1);
  });

  it.each([
    ['login=Anna&activated=true', 1],
    ['activated=true&email.equals=Anna@B%C3%BCcher.example&login.contains=NN', 1],
    ['login=Anna&activated=false', 0],
    ['login=Anna&login=K', 0],
    ['login=Anna&id=1', 0],
    ['login=Anna&page=1', 0],
    ['login=Anna&sort=email,desc', 1],
  ])('combines with other filters, pages and orders: %s', async (query, expected) => {
    expect((await get(`/api/users?${query}`)).body).toHaveLength(expected);
  });

  it.each([
    ['login=Anna', 3, 5],
    [`email=${encodeURIComponent('Anna@B\u00fccher.example')}`, 3, 5],
    ['id=2', 3, 4],
    ['login=nobody', 2, 4],
  ])('reads a few items by their keys: %s', async (query, calls, units) => {
    [cost, operations] = [{ calls: 0, units: 0 }, []];

    const { status } = await get(`/api/users?${query}`);

    expect([status, cost]).toEqual([200, { calls, units }]);
    expect(operations).not.toContain('Query');
  });
});
