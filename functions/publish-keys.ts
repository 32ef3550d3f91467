import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';
import { PublishKeys, readKeySet } from '../lib/tokens/token.ts';

const table = openTable();

/** GET /.well-known/jwks.json: the public keys, for services that verify tokens themselves. */
export const handler = publicEndpoint(PublishKeys, async () => {
  const { keys } = await readKeySet(table);
  return ok({ keys }, { 'Cache-Control': 'public, max-age=300' });
});
