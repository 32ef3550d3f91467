import { alert, created, etag } from '../lib/http/answer.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openTable } from '../lib/table/table.ts';
import { createUser } from '../lib/users/create-user.ts';
import { userView } from '../lib/users/user.ts';
import { CreateUser } from '../lib/users/user-contracts.ts';

const table = openTable();
const passwords = openPasswords();

/** POST /api/users: creates an account. */
export const handler = endpoint(CreateUser, async ({ caller, body }) => {
  const user = await createUser(table, passwords, caller, body);
  const location = `/api/users/${encodeURIComponent(user.login)}`;
  return created(userView(user), location, {
    ...alert(CreateUser.about, 'created', user.login),
    ...etag(user),
  });
});
