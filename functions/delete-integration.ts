import { alert, done } from '../lib/http/answer.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { deleteIntegration } from '../lib/integrations/delete-integration.ts';
import { DeleteIntegration } from '../lib/integrations/integration-contracts.ts';
import { openTable } from '../lib/table/table.ts';

const table = openTable();

/** DELETE /api/utm-integrations/{id}: removes an integration with all its parameters. */
export const handler = endpoint(DeleteIntegration, async ({ caller, path, expected }) => {
  await deleteIntegration(table, caller, path.id, expected);
  return done(alert(DeleteIntegration.about, 'deleted', path.id));
});
