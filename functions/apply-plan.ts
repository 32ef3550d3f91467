import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { applyPlan } from '../lib/operations/plan/plan.ts';
import { ApplyPlan } from '../lib/operations/plan/plan-contracts.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const mustConfirmOwnEmail = process.env.CONFIRM_EMAIL_CHANGES === 'true';

/** POST /api/apply: makes exactly the changes of a plan. */
export const handler = endpoint(ApplyPlan, async ({ caller, body, precondition }) =>
  ok(await applyPlan(table, caller, body, precondition, { mustConfirmOwnEmail })),
);
