import { RequestFactor } from '../lib/accounts/account-contracts.ts';
import { openProof } from '../lib/accounts/owner-proof.ts';
import { requestFactor } from '../lib/accounts/second-factor.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';

const services = openProof(openTable());

/** POST /api/account/second-factor: a secret that a code will confirm. */
export const handler = endpoint(RequestFactor, async ({ caller, source, body }) =>
  ok(await requestFactor(services, caller, source, body.currentPassword)),
);
