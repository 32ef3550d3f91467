import { endpoint } from '../lib/http/endpoint.ts';
import { alert, etag, ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';
import { updateUser } from '../lib/users/update-user.ts';
import { administratorView } from '../lib/users/user.ts';
import { UpdateUser } from '../lib/users/user-contracts.ts';

const table = openTable();
const mustBeConfirmed = process.env.CONFIRM_EMAIL_CHANGES === 'true';

/** PUT /api/users: updates an account; rejects a change that would leave no administrator. */
export const handler = endpoint(UpdateUser, async ({ caller, body, precondition }) => {
  const user = await updateUser(table, caller, body, precondition, mustBeConfirmed);
  return ok(administratorView(user), {
    ...alert(UpdateUser.entityName, 'updated', user.login),
    ...etag(user),
  });
});
