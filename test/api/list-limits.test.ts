import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { forgetReads, setReads } from '../support/instance/read-counts.ts';

/*
 * Responses to lists that would read too much. An interceptor makes the table look long, because
 * filling it takes minutes; test/long/long-lists.test.ts does that.
 */

type Attributes = Record<string, { S?: string; N?: string }>;
type Requests = Record<string, { Keys?: Attributes[] }>;

const gatehouse = await useGatehouse({
  async intercept({ operation, input, functionName }, forward) {
    const pk = (input.ExpressionAttributeValues as Attributes | undefined)?.[':pk']?.S ?? '';
    if (pk.startsWith('AUDIT#')) {
      const count = Number(input.Limit ?? 10_001);
      const ConsumedCapacity = { CapacityUnits: count * unitsPerEntry };
      return { status: 200, body: { Items: entries(pk, count), ConsumedCapacity } };
    }
    const response = await forward();
    const body = response.body as Record<string, unknown>;
    if (!functionName?.startsWith('GET')) return response;
    if (operation === 'BatchGetItem') {
      const [[table = '', { Keys = [] } = {}] = []] = Object.entries(
        input.RequestItems as Requests,
      );
      const totals = Keys.filter(({ pk }) => pk?.S === 'TOTAL').map((key) => ({
        ...key,
        n: { N: String(total) },
      }));
      if (totals.length > 0) return { ...response, body: { Responses: { [table]: totals } } };
    }
    const isLong = operation === 'Query' && pk !== 'JWKS';
    if (!isLong) return response;
    // 5,000 units are 20 MB, and LastEvaluatedKey says that more follows.
    const LastEvaluatedKey = { pk: { S: pk }, sk: { S: '1' } };
    return {
      ...response,
      body: { ...body, ConsumedCapacity: { CapacityUnits: 5000 }, LastEvaluatedKey },
    };
  },
});

let total = 50_000;
let reader = 0;
let entry = 0;
let unitsPerEntry = 0;
/** A partition of the audit trail that has as many entries as a query asks for. */
function entries(pk: string, count: number) {
  const texts = {
    pk,
    id: crypto.randomUUID(),
    time: new Date().toISOString(),
    actor: 'somebody',
    action: 'user.created',
    target: 'user/7',
    targetName: 'bob',
  };
  const attributes = Object.fromEntries(Object.entries(texts).map(([name, S]) => [name, { S }]));
  return Array.from({ length: count }, () => ({
    ...attributes,
    sk: { S: `${++entry}` },
    actorId: { N: '7' },
    fields: { L: [] },
  }));
}

let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

const INTEGRATION_FILTER = 'filter by integrationId.equals';
const NO_FILTERS = 'omit all filters and sort by id';
const NEXT =
  'follow the links to the next page, starting with the first page of sort=id,asc or sort=id,desc';
const FIRST = 'follow the links to the next page, starting with the first page, or';
const TIME = 'narrow the period with time.greaterThan and time.lessThan';

describe('a list that would read too much', () => {
  it.each([
    ['/api/users?page=1000', [NEXT]],
    ['/api/users?sort=login', [NO_FILTERS]],
    ['/api/utm-integrations/count?name.contains=a', [NO_FILTERS]],
    ['/api/utm-integration-confs?sort=confName', [INTEGRATION_FILTER, NO_FILTERS]],
    ['/api/audits?page=1&actor.equals=nobody', [FIRST, TIME]],
    ['/api/audits?page=500', [FIRST, TIME]],
  ])('is rejected with 400 and specific advice: %s: %j', async (path, advice) => {
    const { status, body } = await gatehouse.call('GET', path, { token });

    expect({ status, message: body.message, title: body.title }).toEqual({
      status: 400,
      message: 'error.http.400',
      title: 'The list is too long for this',
    });
    const given = [INTEGRATION_FILTER, NO_FILTERS, NEXT, FIRST, TIME].filter((each) =>
      body.detail.includes(each),
    );
    expect(given).toEqual(advice);
  });

  it.each([
    ['/api/users?page=100', 'from the start'],
    ['/api/users?page=400', 'from the end'],
  ])(
    'is rejected with the advice for a page if large entities precede it: %s, read %s',
    async (path) => {
      total = 9000;
      // A caller of its own, because each of these lists spends the whole read budget.
      const { token: own } = await gatehouse.makeCaller(`reader-${++reader}`);

      const { status, body } = await gatehouse.call('GET', path, { token: own });

      expect(status).toBe(400);
      expect(body.detail).toContain(NEXT);
    },
  );
});

it.each(['page=499', 'actor.equals=nobody'])(
  'a page of the audit trail within the first 10,000 entries, or beginning there, links ' +
    'to the next one: %s',
  async (query) => {
    const { status, body, headers } = await gatehouse.call('GET', `/api/audits?${query}`, {
      token,
    });

    expect([status, body.length]).toEqual([200, query === 'page=499' ? 20 : 0]);
    expect(headers.link).toMatch(/&cursor=\w+>; rel="next"/);
  },
);

it.each([
  ['actor.equals=nobody', 200],
  ['page=1&actor.equals=nobody', 400],
])(
  'a page of the audit trail that has been begun does not fail because it spends the budget: %s',
  async (query, expected) => {
    // The two parallel reads that come first spend the budget.
    await setReads(gatehouse.table, 1, 3800);
    unitsPerEntry = 0.11;

    const { status, body, headers } = await gatehouse.call('GET', `/api/audits?${query}`, {
      token,
    });
    unitsPerEntry = 0;
    await forgetReads(gatehouse.table, 1);

    expect(status).toBe(expected);
    if (expected === 200)
      expect([body, headers.link]).toEqual([[], expect.stringMatching(/&cursor=\w+>; rel="next"/)]);
    else expect(body.detail).toContain(TIME);
  },
);

it('the first page of the audit trail is read after an import of any size', async () => {
  const { status, body } = await gatehouse.call('GET', '/api/audits?size=1', { token });

  expect([status, body.length]).toEqual([200, 1]);
});
