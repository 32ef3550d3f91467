import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { buildConsole } from '../../infra/bundle/console.ts';
import {
  commonTable,
  demandTable,
  edgeRequestTable,
  edgeTable,
  fixedCostTable,
  moduleTable,
  monthlyTable,
  priceTable,
  requestCosts,
  requestTable,
  smallTable,
  trafficTable,
  visitTable,
} from '../support/costs/cost-tables.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { TRAFFIC } from '../support/costs/request-costs.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { edgeTemplateOf, templateOf } from '../support/stack/stack.ts';

afterAll(removeFolders);

const read = (file: string): string =>
  readFileSync(join(import.meta.dirname, '../../docs', file), 'utf8');
const prod = templateOf('prod');
const { domain, edge } = OTHER_SETTINGS;
const costs = requestCosts(prod);

it('docs/cost.md has the current budgets, prices and resources; -u updates it', async () => {
  const document = withGenerated(read('cost.md'), {
    prices: priceTable(),
    small: smallTable(costs, prod),
    fixed: fixedCostTable(prod),
    edge: edgeTable(edgeTemplateOf('prod', { domain, edge })),
    'edge-requests': edgeRequestTable(),
    common: commonTable(),
    requests: requestTable(costs),
    traffic: trafficTable(),
    monthly: monthlyTable(costs),
    visit: visitTable(await consoleSizes()),
    module: moduleTable(costs),
  });

  return expect(document).toMatchFileSnapshot('../../docs/cost.md');
});

/** The compressed sizes of the page and of all its files but the second language. */
async function consoleSizes(): Promise<number[]> {
  const folder = newFolder();
  await buildConsole(folder);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.br') && !file.includes('/de-'))
    .map((file) => statSync(join(folder, file)).size);
}

it('docs/performance.md has the current demand', () => {
  const document = withGenerated(read('performance.md'), { demand: demandTable(costs) });

  return expect(document).toMatchFileSnapshot('../../docs/performance.md');
});

it('the shares of the example of traffic add up to all requests', () => {
  const shares = Object.values(TRAFFIC).reduce((sum, share) => sum + share, 0);

  expect(shares).toBeCloseTo(1, 9);
});
