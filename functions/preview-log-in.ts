import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { PreviewLogIn } from '../lib/identities/identity-contracts.ts';
import { openIssuers } from '../lib/identities/issuer.ts';
import { previewLogIn } from '../lib/identities/preview-log-in.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const issuers = openIssuers();

/** POST /api/issuers/preview: what a log-in with these claims would do. */
export const handler = endpoint(PreviewLogIn, async ({ caller, body }) => {
  await caller.requireAuthorized();
  return ok(await previewLogIn(table, issuers, body));
});
