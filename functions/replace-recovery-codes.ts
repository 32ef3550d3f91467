import { ReplaceRecoveryCodes } from '../lib/accounts/account-contracts.ts';
import { openProof } from '../lib/accounts/owner-proof.ts';
import { replaceRecoveryCodes } from '../lib/accounts/second-factor.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';

const services = openProof(openTable());

/** POST /api/account/second-factor/recovery-codes: replaces the caller's recovery codes. */
export const handler = endpoint(ReplaceRecoveryCodes, async ({ caller, source, body }) => {
  const recoveryCodes = await replaceRecoveryCodes(services, caller, source, body);
  return ok({ recoveryCodes });
});
