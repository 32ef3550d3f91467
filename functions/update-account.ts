import { UpdateAccount } from '../lib/accounts/account-contracts.ts';
import { updateAccount } from '../lib/accounts/update-account.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { alert, okEmpty } from '../lib/http/response.ts';

const mustBeConfirmed = process.env.CONFIRM_EMAIL_CHANGES === 'true';

/** POST /api/account: updates the fields that callers can edit in their own account. */
export const handler = endpoint(UpdateAccount, async ({ caller, body }) => {
  const mailed = await updateAccount(caller, body, mustBeConfirmed);
  return okEmpty(
    mailed ? alert(UpdateAccount.entityName, 'confirmationRequested', mailed.login) : {},
  );
});
