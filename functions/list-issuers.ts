import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ListIssuers } from '../lib/identities/identity-contracts.ts';
import { openIssuers } from '../lib/identities/issuer.ts';

const issuers = openIssuers().map(
  ({ issuer, name, clientId, authorizationEndpoint, tokenEndpoint }) => ({
    issuer,
    name,
    clientId,
    authorizationEndpoint,
    tokenEndpoint,
    passwords: process.env.SSO_ONLY !== 'true',
  }),
);

/** GET /api/issuers: the identity providers with which people log in. */
export const handler = publicEndpoint(ListIssuers, async () => ok(issuers));
