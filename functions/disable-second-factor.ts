import { DisableFactor } from '../lib/accounts/account-contracts.ts';
import { openProof } from '../lib/accounts/owner-proof.ts';
import { disableFactor } from '../lib/accounts/second-factor.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';

const services = openProof(openTable());

/** POST /api/account/second-factor/disable: turns off the caller's second factor. */
export const handler = endpoint(DisableFactor, async ({ caller, source, body }) => {
  await disableFactor(services, caller, source, body);
  return okEmpty();
});
