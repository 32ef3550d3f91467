import * as Accounts from './lib/accounts/account-contracts.ts';
import { ListAudits } from './lib/audit/audit-contracts.ts';
import type { Contract } from './lib/contract.ts';
import { GetHealth } from './lib/health.ts';
import { GetInfo } from './lib/info.ts';
import * as Integrations from './lib/integrations/integration-contracts.ts';
import * as Parameters from './lib/integrations/parameter-contracts.ts';
import { PublishKeys } from './lib/tokens/token-contracts.ts';
import * as Users from './lib/users/user-contracts.ts';

/* The whole API: each row is a request, the file in functions/ that serves it, its contract, and all that its function may do. */

// The partition keys of lib/table/keys.ts.
const [USER, LOGIN, EMAIL, ADMINS, INTEGRATION, CONF] = ['USER', 'LOGIN#*', 'EMAIL#*', 'ADMINS', 'INTEGRATION', 'CONF'];
const [SEQUENCE, TOTAL, JWKS, RESET] = ['SEQUENCE', 'TOTAL', 'JWKS', 'RESET#*'];
const [AUDIT, ATTEMPTS, MAILS, PRECEDENCE, READS] = ['AUDIT#*', 'ATTEMPTS#*', 'MAILS#*', 'PRECEDENCE#*', 'READS#*'];

const mail = true;
const guarded = true;

// biome-ignore format: a table is read by its columns
export const routes: readonly Route[] = [
  { on: 'POST /api/authenticate',                  file: 'authenticate',        contract: Accounts.Authenticate,
    may: { get: [LOGIN, USER, JWKS], batchGet: [ATTEMPTS], put: [JWKS, ATTEMPTS], update: [USER], updateAlone: [ATTEMPTS], keys: ['sign', 'pepper'] }, guarded },
  { on: 'GET /.well-known/jwks.json',              file: 'publish-keys',        contract: PublishKeys,
    may: { query: [JWKS] } },
  { on: 'GET /api/health',                         file: 'get-health',          contract: GetHealth,
    may: { get: [ADMINS] } },
  { on: 'GET /management/info',                    file: 'get-info',            contract: GetInfo,
    may: {} },

  { on: 'GET /api/account',                        file: 'get-account',         contract: Accounts.GetAccount,
    may: { get: [USER] } },
  { on: 'POST /api/account',                       file: 'update-account',      contract: Accounts.UpdateAccount,
    may: { get: [USER, MAILS], put: [EMAIL, MAILS, AUDIT], update: [USER], remove: [EMAIL], check: [EMAIL], mail } },
  { on: 'POST /api/account/change-password',       file: 'change-password',     contract: Accounts.ChangePassword,
    may: { get: [USER, MAILS], batchGet: [ATTEMPTS], put: [ATTEMPTS, MAILS, AUDIT], update: [USER], updateAlone: [ATTEMPTS], keys: ['pepper'], mail } },
  { on: 'POST /api/account/reset-password/init',   file: 'request-reset',       contract: Accounts.RequestReset,
    may: { get: [EMAIL, USER, MAILS], batchGet: [ATTEMPTS], put: [RESET, MAILS], updateAlone: [ATTEMPTS], keys: ['pepper'], mail }, guarded },
  { on: 'POST /api/account/reset-password/finish', file: 'finish-reset',        contract: Accounts.FinishReset,
    may: { get: [RESET, USER, MAILS], batchGet: [ATTEMPTS], put: [ATTEMPTS, MAILS, AUDIT], update: [USER], updateAlone: [ATTEMPTS], remove: [RESET], keys: ['pepper'], mail }, guarded },

  { on: 'POST /api/users',                         file: 'create-user',         contract: Users.CreateUser,
    may: { get: [USER], put: [USER, LOGIN, EMAIL, RESET, AUDIT], update: [ADMINS, TOTAL], updateAlone: [SEQUENCE], check: [USER, EMAIL], keys: ['pepper'], mail } },
  { on: 'PUT /api/users',                          file: 'update-user',         contract: Users.UpdateUser,
    may: { get: [USER, MAILS], put: [LOGIN, EMAIL, MAILS, AUDIT, PRECEDENCE], update: [USER, ADMINS], remove: [LOGIN, EMAIL], check: [USER, EMAIL], mail } },
  { on: 'GET /api/users',                          file: 'list-users',          contract: Users.ListUsers,
    may: { get: [TOTAL, READS], query: [USER], updateAlone: [READS] } },
  { on: 'GET /api/users/authorities',              file: 'list-authorities',    contract: Users.ListAuthorities,
    may: {} },
  { on: 'GET /api/users/{login}',                  file: 'get-user',            contract: Users.GetUser,
    may: { get: [LOGIN, USER] } },
  { on: 'DELETE /api/users/{login}',               file: 'delete-user',         contract: Users.DeleteUser,
    may: { get: [LOGIN, USER], put: [AUDIT, PRECEDENCE], update: [ADMINS, TOTAL], remove: [USER, LOGIN, EMAIL], check: [USER] } },

  { on: 'POST /api/utm-integrations',              file: 'create-integration',  contract: Integrations.CreateIntegration,
    may: { get: [USER], put: [INTEGRATION, AUDIT], update: [TOTAL], updateAlone: [SEQUENCE], check: [USER] } },
  { on: 'PUT /api/utm-integrations',               file: 'update-integration',  contract: Integrations.UpdateIntegration,
    may: { get: [USER, INTEGRATION], put: [AUDIT], update: [INTEGRATION], check: [USER] } },
  { on: 'GET /api/utm-integrations',               file: 'list-integrations',   contract: Integrations.ListIntegrations,
    may: { get: [TOTAL, READS], query: [INTEGRATION], updateAlone: [READS] } },
  { on: 'GET /api/utm-integrations/count',         file: 'count-integrations',  contract: Integrations.CountIntegrations,
    may: { get: [TOTAL, READS], query: [INTEGRATION], updateAlone: [READS] } },
  { on: 'GET /api/utm-integrations/{id}',          file: 'get-integration',     contract: Integrations.GetIntegration,
    may: { get: [INTEGRATION] } },
  { on: 'DELETE /api/utm-integrations/{id}',       file: 'delete-integration',  contract: Integrations.DeleteIntegration,
    may: { get: [USER, INTEGRATION], query: [CONF], put: [AUDIT], update: [TOTAL], remove: [INTEGRATION, CONF], check: [USER] } },
  { on: 'POST /api/utm-integrations/{id}/module/restarted', file: 'report-restart', contract: Integrations.ReportRestart,
    may: { get: [USER, INTEGRATION], put: [AUDIT], update: [INTEGRATION], check: [USER] } },

  { on: 'POST /api/utm-integration-confs',         file: 'create-parameter',    contract: Parameters.CreateParameter,
    may: { get: [USER, INTEGRATION], put: [CONF, AUDIT], update: [INTEGRATION, TOTAL], check: [USER], keys: ['seal'] } },
  { on: 'PUT /api/utm-integration-confs',          file: 'update-parameter',    contract: Parameters.UpdateParameter,
    may: { get: [USER, INTEGRATION, CONF], put: [AUDIT], update: [INTEGRATION, CONF], check: [USER], keys: ['seal'] } },
  { on: 'GET /api/utm-integration-confs',          file: 'list-parameters',     contract: Parameters.ListParameters,
    may: { get: [USER, TOTAL, READS], batchGet: [INTEGRATION], query: [CONF], updateAlone: [READS], keys: ['unseal'] } },
  { on: 'GET /api/utm-integration-confs/count',    file: 'count-parameters',    contract: Parameters.CountParameters,
    may: { get: [USER, TOTAL, READS], query: [CONF], updateAlone: [READS] } },
  { on: 'GET /api/utm-integration-confs/{id}',     file: 'get-parameter',       contract: Parameters.GetParameter,
    may: { get: [USER, INTEGRATION, CONF], keys: ['unseal'] } },
  { on: 'DELETE /api/utm-integration-confs/{id}',  file: 'delete-parameter',    contract: Parameters.DeleteParameter,
    may: { get: [USER, INTEGRATION, CONF], put: [AUDIT], update: [INTEGRATION, TOTAL], remove: [CONF], check: [USER] } },

  { on: 'GET /api/audits',                         file: 'list-audits',         contract: ListAudits,
    may: { get: [USER, READS], query: [AUDIT], updateAlone: [READS] } },
];

/** One endpoint: the request, the file in functions/ that serves it, its contract, and all that its function may do. */
export interface Route {
  readonly on: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`;
  readonly file: string;
  readonly contract: Contract;
  readonly may: Rights;
  /** Whether strangers can make it work hard or send mail: then it has the login's throttle and concurrency. */
  readonly guarded?: true;
}

/** Partition keys that a function may use, by what it does with them, and the keys in KMS. Nothing that is not named. */
export interface Rights {
  readonly get?: readonly string[];
  readonly batchGet?: readonly string[];
  readonly query?: readonly string[];
  readonly put?: readonly string[];
  readonly update?: readonly string[];
  /** Outside of a transaction; put, update and remove are for transactions only. */
  readonly updateAlone?: readonly string[];
  readonly remove?: readonly string[];
  readonly check?: readonly string[];
  /** Whether it sends mail to users. */
  readonly mail?: true;
  readonly keys?: readonly ('sign' | 'pepper' | 'seal' | 'unseal')[];
}

/**
 * All that a row's function may do: what the row says, to read the public keys where it demands a token, and before a
 * change to see whether another one has precedence over it.
 */
export function rightsOf({ on, contract, may }: Route): Rights {
  if (contract.who === 'open') return may;
  const rights = { ...may, query: [...(may.query ?? []), JWKS] };
  return on.startsWith('GET ') ? rights : { ...rights, get: [...(may.get ?? []), PRECEDENCE] };
}
