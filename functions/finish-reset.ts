import { FinishReset } from '../lib/accounts/account-contracts.ts';
import { finishReset } from '../lib/accounts/password-reset.ts';
import { done } from '../lib/http/answer.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openTable } from '../lib/table/table.ts';

const table = openTable();
const passwords = openPasswords();

/** POST /api/account/reset-password/finish: sets a password by a mailed key. */
export const handler = endpoint(FinishReset, async ({ body }) => {
  await finishReset(table, passwords, body.key, body.newPassword);
  return done();
});
