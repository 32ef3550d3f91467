import { endpoint } from '../lib/http/endpoint.ts';
import { alert, created, etag } from '../lib/http/response.ts';
import { openHasher } from '../lib/passwords/hasher.ts';
import { openPasswordPolicy } from '../lib/passwords/password-policy.ts';
import { openTable } from '../lib/table/open-table.ts';
import { createUser } from '../lib/users/create-user.ts';
import { administratorView } from '../lib/users/user.ts';
import { CreateUser } from '../lib/users/user-contracts.ts';

const table = openTable();
const hasher = openHasher();
const policy = openPasswordPolicy();

/** POST /api/users: creates a user, who is invited by mail unless a password is given. */
export const handler = endpoint(CreateUser, async ({ caller, body }) => {
  const user = await createUser({ table, hasher, policy }, caller, body);
  const location = `/api/users/${encodeURIComponent(user.login)}`;
  return created(administratorView(user), location, {
    ...alert(CreateUser.entityName, 'created', user.login),
    ...etag(user),
  });
});
