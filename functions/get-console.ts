import { join } from 'node:path';
import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { okFile } from '../lib/http/response.ts';
import { openIssuers } from '../lib/identities/issuer.ts';
import { findConsoleFile, readConsoleFiles } from '../lib/operations/status/console-files.ts';
import { GetConsole } from '../lib/operations/status/status-contracts.ts';

// infra/bundle/bundle.ts puts the built console beside the function.
const files = readConsoleFiles(
  join(import.meta.dirname, 'console'),
  openIssuers().map(({ tokenEndpoint }) => tokenEndpoint),
);

/** GET /console/{path+}: a file of the console or its page, which is also at /console. */
export const handler = publicEndpoint(GetConsole, async ({ pathname, acceptEncoding }) =>
  okFile(findConsoleFile(files, pathname, acceptEncoding)),
);
