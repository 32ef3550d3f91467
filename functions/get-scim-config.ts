import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { GetScimConfig, SCIM_CONFIG } from '../lib/identities/scim-contracts.ts';

/** GET /scim/v2/ServiceProviderConfig: what this service supports of SCIM. */
export const handler = endpoint(GetScimConfig, async () => ok(SCIM_CONFIG));
