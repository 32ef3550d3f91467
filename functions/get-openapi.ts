import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { okJson } from '../lib/http/response.ts';
import { GetOpenApi } from '../lib/operations/status/status-contracts.ts';
import document from '../openapi.json' with { type: 'json' };

// Serialized once per function instance, because the document never changes.
const json = JSON.stringify(document);

/** GET /api/openapi.json: the description of this API. */
export const handler = publicEndpoint(GetOpenApi, async () =>
  okJson(json, { 'Cache-Control': 'public, max-age=300' }),
);
