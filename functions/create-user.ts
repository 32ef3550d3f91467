import { endpoint } from '../lib/http/endpoint.ts';
import { alert, created, etag } from '../lib/http/response.ts';
import { invite, openMailer } from '../lib/mail/mail.ts';
import { openHasher } from '../lib/passwords/hasher.ts';
import { openTable } from '../lib/table/table.ts';
import { createUser } from '../lib/users/create-user.ts';
import { userView } from '../lib/users/user.ts';
import { CreateUser } from '../lib/users/user-contracts.ts';

const table = openTable();
const hasher = openHasher();
const mailer = openMailer();

/** POST /api/users: creates an account and, if it has no password, mails an invitation. */
export const handler = endpoint(CreateUser, async ({ caller, body }) => {
  const { user, key } = await createUser(table, hasher, caller, body);
  if (key) await invite(mailer, user, key);
  const location = `/api/users/${encodeURIComponent(user.login)}`;
  return created(userView(user), location, {
    ...alert(CreateUser.entityName, 'created', user.login),
    ...etag(user),
  });
});
