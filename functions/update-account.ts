import { UpdateAccount } from '../lib/accounts/account-contracts.ts';
import { updateAccount } from '../lib/accounts/update-account.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';

/** POST /api/account: updates the fields that callers can edit in their own account. */
export const handler = endpoint(UpdateAccount, async ({ caller, body }) => {
  await updateAccount(caller, body);
  return okEmpty();
});
