import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ListModuleIssuers } from '../lib/modules/credential-contracts.ts';
import { openModuleIssuers } from '../lib/modules/module-issuer.ts';

const issuers = openModuleIssuers().map(({ issuer, audience }) => ({ issuer, audience }));

/** GET /api/module-issuers: the platforms with whose tokens modules can authenticate themselves. */
export const handler = endpoint(ListModuleIssuers, async () => ok(issuers));
