import { moduleEndpoint } from '../lib/http/module-endpoint.ts';
import { etag, ok } from '../lib/http/response.ts';
import { ReadModule } from '../lib/modules/module-contracts.ts';
import { pollModule } from '../lib/modules/poll-module.ts';
import { openSnapshotTable } from '../lib/table/snapshot.ts';

const table = openSnapshotTable();

/** GET /api/utm-integrations/{id}/module: what a module is wanted to run. */
export const handler = moduleEndpoint(
  ReadModule,
  async ({ caller, path, precondition, running }) => {
    const { wanted, body } = await pollModule(table, caller, path.id, { precondition, running });
    // Without an ETag: it also has what the module runs, which the number does not count.
    if (!('clientId' in caller)) return ok(body);
    const headers = etag({ version: String(wanted) });
    return body ? ok(body, headers) : { status: 304, headers };
  },
);
