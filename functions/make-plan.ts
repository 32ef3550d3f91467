import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { makePlan } from '../lib/operations/plan/plan.ts';
import { MakePlan } from '../lib/operations/plan/plan-contracts.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const mustConfirmOwnEmail = process.env.CONFIRM_EMAIL_CHANGES === 'true';

/** POST /api/plan: what would change for everything to be as files say. */
export const handler = endpoint(MakePlan, async ({ caller, body }) => {
  const plan = await makePlan(table, caller, body, { mustConfirmOwnEmail });
  return ok(plan, { ETag: `"${plan.digest}"` });
});
