import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { GetInfo, info } from '../lib/status/info.ts';

/** GET /management/info: what JHipster clients want to know of a server. */
export const handler = endpoint(GetInfo, async () => ok(info));
