import { openLoginThrottle } from '../lib/accounts/login-throttle.ts';
import { disableFactor } from '../lib/accounts/second-factor.ts';
import { DisableFactor } from '../lib/accounts/second-factor-contracts.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openFactorSecrets } from '../lib/second-factor/factor-secrets.ts';
import { openTable } from '../lib/table/table.ts';

const services = {
  passwords: openPasswords(),
  factorSecrets: openFactorSecrets(),
  throttle: openLoginThrottle(openTable()),
};

/** POST /api/account/second-factor/disable: turns off the caller's second factor. */
export const handler = endpoint(DisableFactor, async ({ caller, source, body }) => {
  await disableFactor(services, caller, source, body);
  return okEmpty();
});
