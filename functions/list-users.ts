import { endpoint } from '../lib/http/endpoint.ts';
import { pageResponse } from '../lib/http/response.ts';
import { listPage } from '../lib/table/list.ts';
import { openTable } from '../lib/table/open-table.ts';
import { readBudget } from '../lib/table/read-budget.ts';
import { ListUsers, requireSelectable, USERS } from '../lib/users/list-users.ts';
import { administratorView, userView } from '../lib/users/user.ts';

const table = openTable();

/** GET /api/users: a page of all accounts, deactivated ones included. */
export const handler = endpoint(ListUsers, async ({ caller, query, pathname }) => {
  await requireSelectable(caller, query);
  const budget = readBudget(table, caller);
  const page = await listPage({ ...USERS, table, budget }, query);
  const view = (await caller.isAdministrator()) ? administratorView : userView;
  return pageResponse(page, view, { query, pathname });
});
