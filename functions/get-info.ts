import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { GetInfo, info } from '../lib/status/info.ts';

/** GET /management/info: the server information that JHipster clients expect. */
export const handler = publicEndpoint(GetInfo, async () => ok(info));
