import { alert, done } from '../lib/http/answer.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { deleteParameter } from '../lib/integrations/delete-parameter.ts';
import { DeleteParameter } from '../lib/integrations/parameter-contracts.ts';
import { openTable } from '../lib/table/table.ts';

const table = openTable();

/** DELETE /api/utm-integration-confs/{id}: removes a parameter. */
export const handler = endpoint(DeleteParameter, async ({ caller, path, expected }) => {
  await deleteParameter(table, caller, path.id, expected);
  return done(alert(DeleteParameter.about, 'deleted', path.id));
});
