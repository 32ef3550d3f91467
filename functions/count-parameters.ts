import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { CountParameters } from '../lib/integrations/parameter-contracts.ts';
import { countParameters } from '../lib/integrations/read-parameters.ts';
import { openTable } from '../lib/table/table.ts';

const table = openTable();

/** GET /api/utm-integration-confs/count: how many parameters a list has. */
export const handler = endpoint(CountParameters, async ({ caller, query }) =>
  ok(await countParameters(table, caller, query)),
);
