import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { GetHealth, health } from '../lib/operations/status/health.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** GET /api/health: whether the table can be read. */
export const handler = publicEndpoint(GetHealth, async () => ok(await health(table)));
