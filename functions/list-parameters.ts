import { endpoint } from '../lib/http/endpoint.ts';
import { pageResponse } from '../lib/http/response.ts';
import { parameterView } from '../lib/integrations/parameter.ts';
import { ListParameters } from '../lib/integrations/parameter-contracts.ts';
import { readParameters } from '../lib/integrations/read-parameters.ts';
import { openSnapshotTable } from '../lib/table/snapshot.ts';

const table = openSnapshotTable();

/** GET /api/utm-integration-confs: a page of all parameters, with their values. */
export const handler = endpoint(ListParameters, async ({ caller, query, pathname }) => {
  const page = await readParameters(table, caller, query);
  return pageResponse(page, parameterView, { query, pathname });
});
