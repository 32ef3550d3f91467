import { endpoint } from '../lib/http/endpoint.ts';
import { etag, ok } from '../lib/http/response.ts';
import { parameterView } from '../lib/integrations/parameter.ts';
import { GetParameter } from '../lib/integrations/parameter-contracts.ts';
import { readParameter } from '../lib/integrations/read-parameters.ts';
import { openSnapshotTable } from '../lib/table/snapshot.ts';

const table = openSnapshotTable();

/** GET /api/utm-integration-confs/{id}: one parameter, with its value. */
export const handler = endpoint(GetParameter, async ({ caller, path }) => {
  const parameter = await readParameter(table, caller, path.id);
  return ok(parameterView(parameter), etag(parameter));
});
