import { linkOwnIdentity, openLinking } from '../lib/accounts/link-own-identity.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { LinkOwnIdentity } from '../lib/identities/identity-contracts.ts';
import { openTable } from '../lib/table/open-table.ts';

const services = openLinking(openTable());

/** POST /api/account/identities: links the caller's account with an identity. */
export const handler = endpoint(LinkOwnIdentity, async ({ caller, source, body }) => {
  await linkOwnIdentity(services, caller, source, body);
  return okEmpty();
});
