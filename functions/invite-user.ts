import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';
import { inviteUser } from '../lib/users/invite-user.ts';
import { InviteUser } from '../lib/users/user-contracts.ts';

const table = openTable();

/** POST /api/users/{login}/invite: mails a user without a password a new key to set one. */
export const handler = endpoint(InviteUser, async ({ caller, path }) => {
  await inviteUser(table, caller, path.login);
  return okEmpty();
});
