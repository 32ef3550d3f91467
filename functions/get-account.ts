import { GetAccount } from '../lib/accounts/account-contracts.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { userView } from '../lib/users/user.ts';
import { factorView, openFactorRequirement } from '../lib/users/user-factor.ts';

const requirement = openFactorRequirement();

/** GET /api/account: the caller's own account. */
export const handler = endpoint(GetAccount, async ({ caller }) => {
  const user = await caller.findUser();
  const { identities = [] } = user;
  return ok({
    ...userView(user),
    ...factorView(user, (await caller.hasSecondFactor()) ? undefined : requirement),
    identities: identities.map(({ issuer }) => issuer),
  });
});
