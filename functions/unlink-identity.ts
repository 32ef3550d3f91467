import { endpoint } from '../lib/http/endpoint.ts';
import { alert, okEmpty } from '../lib/http/response.ts';
import { UnlinkIdentity } from '../lib/identities/identity-contracts.ts';
import { unlinkIdentity } from '../lib/identities/link-identity.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** POST /api/users/{login}/identities/delete: unlinks a user from an identity. */
export const handler = endpoint(UnlinkIdentity, async ({ caller, path, body }) => {
  await unlinkIdentity(table, caller, path.login, body.issuer);
  return okEmpty(alert(UnlinkIdentity.entityName, 'updated', path.login));
});
