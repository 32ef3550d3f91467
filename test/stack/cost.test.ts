import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUDGETS, budgetOf } from '../support/costs/call-budgets.ts';
import {
  commonTable,
  demandTable,
  edgeRequestTable,
  edgeTable,
  fixedCostTable,
  monthlyTable,
  priceTable,
  requestCosts,
  requestTable,
  trafficTable,
} from '../support/costs/cost-tables.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { PRICES } from '../support/costs/prices.ts';
import { TRAFFIC } from '../support/costs/request-costs.ts';
import { contentionTable } from '../support/model/contention.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { edgeTemplateOf, templateOf } from '../support/stack/stack.ts';

const read = (file: string): string =>
  readFileSync(join(import.meta.dirname, '../../docs', file), 'utf8');
const prod = templateOf('prod');
const { domain, edge } = OTHER_SETTINGS;
const costs = requestCosts(prod);

it('docs/cost.md has the current budgets, prices and resources; -u updates it', () => {
  const document = withGenerated(read('cost.md'), {
    prices: priceTable(),
    fixed: fixedCostTable(prod),
    edge: edgeTable(edgeTemplateOf('prod', { domain, edge })),
    'edge-requests': edgeRequestTable(),
    common: commonTable(),
    requests: requestTable(costs),
    traffic: trafficTable(),
    monthly: monthlyTable(costs),
  });

  return expect(document).toMatchFileSnapshot('../../docs/cost.md');
});

it('docs/scale.md has the current demand of each request, and the results of the simulation; -u updates it', () => {
  const item = { holdMs: 10, loadMs: 10, seconds: 60, seed: 1 };
  const document = withGenerated(read('scale.md'), {
    demand: demandTable(costs),
    unversioned: contentionTable({ ...item, versioned: false }),
    versioned: contentionTable({ ...item, versioned: true }),
  });

  return expect(document).toMatchFileSnapshot('../../docs/scale.md');
});

describe('the cost of a request', () => {
  it('consists of the units and calls of its budget', () => {
    expect(budgetOf('POST /api/account/change-password')).toEqual({
      roundTrips: 6,
      reads: 5,
      writes: 13,
      calls: { GenerateMac: 2, TransactWriteItems: 3, UpdateItem: 1, GetItem: 2, BatchGetItem: 1 },
    });
    const { dollars, symmetricCalls, mails } = costs.get(
      'POST /api/account/change-password',
    ) as never as {
      dollars: Record<string, number>;
      symmetricCalls: number;
      mails: number;
    };

    expect([symmetricCalls, mails]).toEqual([2, 1]);
    expect(dollars.table).toBeCloseTo(5 * PRICES.read.dollars + 13 * PRICES.write.dollars, 6);
    expect(dollars.keys).toBeCloseTo(6, 6);
    expect(dollars.mail).toBeGreaterThan(100);
    expect(dollars.mail).toBeLessThan(112);
  });

  it('contains the CPU time of calls and hashes, scaled to the memory of the function', () => {
    // Four calls in two round trips with 512 MB, and seven in four with a hash and 1,024 MB.
    expect(costs.get('PUT /api/users')?.milliseconds).toBe(23);
    expect(costs.get('POST /api/authenticate')?.milliseconds).toBe(108);
  });

  it('is known for every route', () => {
    expect([...costs.keys()]).toEqual(Object.keys(BUDGETS));
    expect([...costs.values()].filter(({ total }) => !(total > 2 && total < 200))).toEqual([]);
  });
});

it('the shares of the example of traffic add up to all requests', () => {
  const shares = Object.values(TRAFFIC).reduce((sum, share) => sum + share, 0);

  expect(shares).toBeCloseTo(1, 9);
});
