import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { readOverview } from '../lib/operations/overview/overview.ts';
import { GetOverview } from '../lib/operations/overview/overview-contracts.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** GET /api/overview: what needs attention and what has happened. */
export const handler = endpoint(GetOverview, async ({ caller }) =>
  ok(await readOverview(table, caller)),
);
