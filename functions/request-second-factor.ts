import { openLoginThrottle } from '../lib/accounts/login-throttle.ts';
import { requestFactor } from '../lib/accounts/second-factor.ts';
import { RequestFactor } from '../lib/accounts/second-factor-contracts.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openFactorSecrets } from '../lib/second-factor/factor-secrets.ts';
import { openTable } from '../lib/table/table.ts';

const services = {
  passwords: openPasswords(),
  factorSecrets: openFactorSecrets(),
  throttle: openLoginThrottle(openTable()),
};

/** POST /api/account/second-factor: a secret that a code will confirm. */
export const handler = endpoint(RequestFactor, async ({ caller, source, body }) =>
  ok(await requestFactor(services, caller, source, body.currentPassword)),
);
