import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { GetOpenApi } from '../lib/status/openapi.ts';
import document from '../openapi.json' with { type: 'json' };

/** GET /api/openapi.json: the description of this API. */
export const handler = publicEndpoint(GetOpenApi, async () => ok(document, { 'Cache-Control': 'public, max-age=300' }));
