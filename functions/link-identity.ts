import { endpoint } from '../lib/http/endpoint.ts';
import { alert, okEmpty } from '../lib/http/response.ts';
import { LinkIdentity } from '../lib/identities/identity-contracts.ts';
import { openIssuers } from '../lib/identities/issuer.ts';
import { linkIdentity } from '../lib/identities/link-identity.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const issuers = openIssuers();

/** POST /api/users/{login}/identities: links another user with an identity. */
export const handler = endpoint(LinkIdentity, async ({ caller, path, body }) => {
  await linkIdentity(table, caller, path.login, body, issuers);
  return okEmpty(alert(LinkIdentity.entityName, 'updated', path.login));
});
