import { beforeAll, describe, expect, it } from 'vitest';
import { idText } from '../../lib/table/keys.ts';
import { measureUnits } from '../support/costs/consumed-units.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { forgetReads } from '../support/instance/read-counts.ts';

/*
 * Filters of users in a list of any length. An interceptor makes the list long, because filling the
 * table takes minutes; test/long/long-lists.test.ts does that.
 */

type Attributes = Record<string, { S?: string; N?: string }>;

const TOTAL = 25_000;
const RARE = [1, 6000, 12_000, 18_000, 24_000];
let isLong = false;
let cost = { calls: 0, units: 0 };
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    const { operation, input, functionName } = call;
    if (functionName !== 'GET /api/users') return forward();
    const values = input.ExpressionAttributeValues as Attributes | undefined;
    const isUserQuery = operation === 'Query' && values?.[':pk']?.S === 'USER';
    if (isLong && isUserQuery) return { status: 200, body: longQuery(values, input) };
    const { response, readUnits } = await measureUnits(call, forward);
    if (readUnits > 0) cost = { calls: cost.calls + 1, units: cost.units + readUnits };
    if (!isLong || operation !== 'BatchGetItem') return response;
    const { Responses } = JSON.parse(String(response.body));
    for (const item of Object.values<Attributes[]>(Responses).flat())
      if (item.pk?.S === 'TOTAL') item.n = { N: String(TOTAL) };
    return { ...response, body: { Responses } };
  },
});

/** The ids that a query has read. */
let read: number[] = [];
function longQuery(values: Attributes, input: { Limit?: number; ScanIndexForward?: boolean }) {
  const from = Math.max(1, Number(values[':from']?.S));
  const to = Math.min(TOTAL, Number(values[':to']?.S));
  const count = Math.max(0, Math.min(to - from + 1, input.Limit ?? 0));
  const ids = Array.from({ length: count }, (_, n) => (input.ScanIndexForward ? from + n : to - n));
  read.push(...ids);
  return { Items: ids.map(userItem), ConsumedCapacity: { CapacityUnits: 0 } };
}
const userItem = (id: number) => ({
  pk: { S: 'USER' },
  sk: { S: idText(id) },
  id: { N: String(id) },
  login: { S: `${RARE.includes(id) ? 'rare' : 'user'}-${id}` },
  email: { S: `user-${id}@example.com` },
  activated: { BOOL: true },
  langKey: { S: 'en' },
  authorities: { L: RARE.includes(id) ? [{ S: 'ROLE_ANALYST' }] : [] },
  ...Object.fromEntries(['createdBy', 'lastModifiedBy'].map((name) => [name, { S: 'admin' }])),
  ...Object.fromEntries(
    ['createdDate', 'lastModifiedDate'].map((name) => [name, { S: '2026-01-01T00:00:00.000Z' }]),
  ),
});

let token: string;
const nextOf = (link: string | undefined) => /<([^>]*)>; rel="next"/.exec(link ?? '')?.[1];
const idsIn = (body: { id: number }[]) => body.map(({ id }) => id);
async function get(path: string) {
  // Each step spends a quarter of the budget.
  await forgetReads(gatehouse.table, 1);
  return gatehouse.call('GET', path, { token });
}
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

describe('a filter of more than 10,000 users', () => {
  beforeAll(() => {
    isLong = true;
    return () => {
      isLong = false;
    };
  });

  it.each([
    ['login.contains=RARE', RARE],
    ['login.contains=rare&sort=id,desc', RARE.toReversed()],
    ['authorities=ROLE_ANALYST', RARE],
    ['login.in=rare-6000,rare-24000', [6000, 24_000]],
    ['login.contains=nobody', []],
  ])('selects each matching user once along the links: %s', async (query, expected) => {
    const found: number[] = [];
    let path: string | undefined = `/api/users?size=2&${query}`;
    for (let requests = 0; path; requests++) {
      read = [];
      const { status, body, headers } = await get(path);

      expect([status, headers['x-total-count'], requests < 5]).toEqual([200, undefined, true]);
      expect(headers.link).not.toMatch(/rel="(last|prev)"/);
      expect(new Set(read).size).toBeLessThanOrEqual(11_000);
      found.push(...idsIn(body));
      path = nextOf(headers.link);
    }

    expect(found).toEqual(expected);
  });

  it('has a page that is not full, and still a next link', async () => {
    const { body, headers } = await get('/api/users?login.contains=rare');

    expect(idsIn(body)).toEqual([1, 6000]);
    expect(headers.link).toMatch(/login.contains=rare&cursor=\w+>; rel="next"/);
  });

  it.each([
    ['page=1&login.contains=rare', 'starting with the first page'],
    ['sort=login&login.contains=rare', 'sort by id and follow the links'],
  ])('is rejected with 400 and a remedy when it has no cursor: %s', async (query, remedy) => {
    const { status, body } = await get(`/api/users?${query}`);

    expect([status, body.title]).toEqual([400, 'The list is too long for this']);
    expect(body.detail).toContain(remedy);
  });
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
    ['login=Anna', 3, 4],
    [`email=${encodeURIComponent('Anna@B\u00fccher.example')}`, 3, 4],
    ['id=2', 3, 3],
    ['login=nobody', 2, 3],
  ])('reads the same few items in a list of any length: %s', async (query, calls, units) => {
    for (const long of [false, true]) {
      isLong = long;
      [cost, read] = [{ calls: 0, units: 0 }, []];

      const { status } = await get(`/api/users?${query}`);

      expect([status, cost, read]).toEqual([200, { calls, units }, []]);
    }
    isLong = false;
  });
});
