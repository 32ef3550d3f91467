import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { type Build, GetInfo, infoOf } from '../lib/operations/status/status-contracts.ts';

/** The bundler replaces it, here only: other functions keep their hash from commit to commit. */
declare const BUILD: Build;

/** GET /management/info: the server information that JHipster clients expect. */
export const handler = publicEndpoint(GetInfo, async () => ok(infoOf(BUILD)));
