import { moduleEndpoint } from '../lib/http/module-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ReportModule } from '../lib/modules/module-contracts.ts';
import { moduleStateView } from '../lib/modules/module-state.ts';
import { reportModule } from '../lib/modules/record-report.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** POST /api/utm-integrations/{id}/module/report: what a module runs, in its own words. */
export const handler = moduleEndpoint(ReportModule, async ({ caller, body }) =>
  ok(moduleStateView(await reportModule(table, caller, body))),
);
