import { RequestReset } from '../lib/accounts/account-contracts.ts';
import { requestReset } from '../lib/accounts/password-reset.ts';
import { done } from '../lib/http/answer.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { openMailer } from '../lib/mail/mail.ts';
import { openTable } from '../lib/table/table.ts';

const table = openTable();
const mailer = openMailer();

/** POST /api/account/reset-password/init: mails a key to who has forgotten the password. */
export const handler = endpoint(RequestReset, async ({ body }) => {
  await requestReset(table, mailer, body.email);
  return done();
});
