import { endpoint } from '../lib/http/endpoint.ts';
import { alert, created } from '../lib/http/response.ts';
import { CreateCredential } from '../lib/modules/credential-contracts.ts';
import { createCredential } from '../lib/modules/credentials.ts';
import { openModuleIssuers } from '../lib/modules/module-issuer.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const issuers = openModuleIssuers();

/** POST /api/utm-integrations/{id}/credentials: a credential; only this shows its secret. */
export const handler = endpoint(CreateCredential, async ({ caller, path, body }) => {
  const credential = await createCredential(table, caller, path.id, body, issuers);
  const location = `/api/utm-integrations/${path.id}/credentials/${credential.clientId}`;
  return created(credential, location, alert(CreateCredential.entityName, 'updated', path.id));
});
