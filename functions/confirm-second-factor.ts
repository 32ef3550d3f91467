import { ConfirmFactor } from '../lib/accounts/account-contracts.ts';
import { confirmFactor } from '../lib/accounts/second-factor.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openFactorSecrets } from '../lib/second-factor/factor-secrets.ts';
import { openTable } from '../lib/table/open-table.ts';
import { openLoginThrottle } from '../lib/throttle/login-throttle.ts';

const services = {
  factorSecrets: openFactorSecrets(),
  throttle: openLoginThrottle(openTable()),
};

/** POST /api/account/second-factor/confirm: turns on the factor of the requested secret. */
export const handler = endpoint(ConfirmFactor, async ({ caller, source, body }) => {
  const recoveryCodes = await confirmFactor(services, caller, source, body.code);
  return ok({ recoveryCodes });
});
