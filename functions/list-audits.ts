import { ListAudits } from '../lib/audit/audit-contracts.ts';
import { auditView, readAudits } from '../lib/audit/read-audits.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { pageResponse } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** GET /api/audits: a page of the audit trail, newest first. */
export const handler = endpoint(ListAudits, async ({ caller, query, pathname }) => {
  const page = await readAudits(table, caller, query);
  return pageResponse(page, auditView, { query, pathname });
});
