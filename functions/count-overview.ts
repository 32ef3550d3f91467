import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { countNow } from '../lib/operations/overview/overview.ts';
import { CountOverview } from '../lib/operations/overview/overview-contracts.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** POST /api/overview/count: counts at once what the overview shows. */
export const handler = endpoint(CountOverview, async ({ caller }) => {
  await countNow(table, caller);
  return okEmpty();
});
