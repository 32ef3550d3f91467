import * as Accounts from './lib/accounts/account-contracts.ts';
import { ListAudits } from './lib/audit/audit-contracts.ts';
import type { Contract } from './lib/contract/contract.ts';
import * as Integrations from './lib/integrations/integration-contracts.ts';
import * as Parameters from './lib/integrations/parameter-contracts.ts';
import { GetHealth } from './lib/status/health.ts';
import { GetInfo } from './lib/status/info.ts';
import { GetOpenApi } from './lib/status/openapi.ts';
import { PublishKeys } from './lib/tokens/token-contracts.ts';
import * as Users from './lib/users/user-contracts.ts';

/*
 * The whole API, one endpoint per row: route, handler in functions/, contract and the permissions
 * of its function.
 */

// Partition keys, as documented in lib/table/keys.ts.
const [USER, LOGIN, EMAIL, ADMINS, INTEGRATION, CONF] = [
  'USER',
  'LOGIN#*',
  'EMAIL#*',
  'ADMINS',
  'INTEGRATION',
  'CONF',
];
const [SEQUENCE, TOTAL, JWKS, RESET, RESET_MAIL] = [
  'SEQUENCE',
  'TOTAL',
  'JWKS',
  'RESET#*',
  'RESET-MAIL#*',
];
const [AUDIT, ATTEMPTS, MAIL, PRECEDENCE, READS] = [
  'AUDIT#*',
  'ATTEMPTS#*',
  'MAIL#*',
  'PRECEDENCE#*',
  'READS#*',
];

const strictThrottle = true;

// biome-ignore format: a table is read by its columns
export const routes: readonly Route[] = [
  { route: 'POST /api/authenticate',                  handler: 'authenticate',        contract: Accounts.Authenticate,
    permissions: { get: [LOGIN, USER, JWKS], batchGet: [LOGIN, ATTEMPTS], put: [JWKS, ATTEMPTS], update: [USER], updateOutsideTransaction: [ATTEMPTS], keys: ['sign', 'pepper'] }, strictThrottle },
  { route: 'GET /.well-known/jwks.json',              handler: 'publish-keys',        contract: PublishKeys,
    permissions: { query: [JWKS] } },
  { route: 'GET /api/health',                         handler: 'get-health',          contract: GetHealth,
    permissions: { get: [ADMINS] } },
  { route: 'GET /management/info',                    handler: 'get-info',            contract: GetInfo,
    permissions: {} },
  { route: 'GET /api/openapi.json',                   handler: 'get-openapi',         contract: GetOpenApi,
    permissions: {} },

  { route: 'GET /api/account',                        handler: 'get-account',         contract: Accounts.GetAccount,
    permissions: { get: [USER] } },
  { route: 'POST /api/account',                       handler: 'update-account',      contract: Accounts.UpdateAccount,
    permissions: { get: [USER], put: [EMAIL, MAIL, AUDIT], update: [USER], delete: [EMAIL], conditionCheck: [EMAIL] } },
  { route: 'POST /api/account/change-password',       handler: 'change-password',     contract: Accounts.ChangePassword,
    permissions: { get: [USER], batchGet: [ATTEMPTS], put: [ATTEMPTS, MAIL, AUDIT], update: [USER], updateOutsideTransaction: [ATTEMPTS], keys: ['pepper'] } },
  { route: 'POST /api/account/reset-password/init',   handler: 'request-reset',       contract: Accounts.RequestReset,
    permissions: { batchGet: [ATTEMPTS], put: [RESET_MAIL], updateOutsideTransaction: [ATTEMPTS], keys: ['pepper'] }, strictThrottle },
  { route: 'POST /api/account/reset-password/finish', handler: 'finish-reset',        contract: Accounts.FinishReset,
    permissions: { batchGet: [ATTEMPTS, RESET, USER], put: [ATTEMPTS, MAIL, AUDIT, PRECEDENCE], update: [USER], updateOutsideTransaction: [ATTEMPTS], delete: [RESET], keys: ['pepper'] }, strictThrottle },

  { route: 'POST /api/users',                         handler: 'create-user',         contract: Users.CreateUser,
    permissions: { get: [USER], put: [USER, LOGIN, EMAIL, MAIL, AUDIT], update: [ADMINS, TOTAL], updateOutsideTransaction: [SEQUENCE], conditionCheck: [USER, EMAIL], keys: ['pepper'] } },
  { route: 'PUT /api/users',                          handler: 'update-user',         contract: Users.UpdateUser,
    permissions: { get: [USER], put: [LOGIN, EMAIL, MAIL, AUDIT, PRECEDENCE], update: [USER, ADMINS], delete: [LOGIN, EMAIL, PRECEDENCE], conditionCheck: [USER, EMAIL] } },
  { route: 'GET /api/users',                          handler: 'list-users',          contract: Users.ListUsers,
    permissions: { get: [USER], batchGet: [READS, TOTAL], query: [USER], updateOutsideTransaction: [READS] } },
  { route: 'GET /api/users/authorities',              handler: 'list-authorities',    contract: Users.ListAuthorities,
    permissions: {} },
  { route: 'GET /api/users/{login}',                  handler: 'get-user',            contract: Users.GetUser,
    permissions: { get: [LOGIN, USER] } },
  { route: 'DELETE /api/users/{login}',               handler: 'delete-user',         contract: Users.DeleteUser,
    permissions: { get: [LOGIN, USER], put: [AUDIT, PRECEDENCE], update: [ADMINS, TOTAL], delete: [USER, LOGIN, EMAIL, PRECEDENCE], conditionCheck: [USER] } },

  { route: 'POST /api/utm-integrations',              handler: 'create-integration',  contract: Integrations.CreateIntegration,
    permissions: { get: [USER], put: [INTEGRATION, AUDIT], update: [TOTAL], updateOutsideTransaction: [SEQUENCE], conditionCheck: [USER] } },
  { route: 'PUT /api/utm-integrations',               handler: 'update-integration',  contract: Integrations.UpdateIntegration,
    permissions: { get: [USER, INTEGRATION], put: [AUDIT], update: [INTEGRATION], conditionCheck: [USER] } },
  { route: 'GET /api/utm-integrations',               handler: 'list-integrations',   contract: Integrations.ListIntegrations,
    permissions: { get: [USER], batchGet: [READS, TOTAL], query: [INTEGRATION], updateOutsideTransaction: [READS] } },
  { route: 'GET /api/utm-integrations/count',         handler: 'count-integrations',  contract: Integrations.CountIntegrations,
    permissions: { get: [USER], batchGet: [READS, TOTAL], query: [INTEGRATION], updateOutsideTransaction: [READS] } },
  { route: 'GET /api/utm-integrations/{id}',          handler: 'get-integration',     contract: Integrations.GetIntegration,
    permissions: { get: [INTEGRATION] } },
  { route: 'DELETE /api/utm-integrations/{id}',       handler: 'delete-integration',  contract: Integrations.DeleteIntegration,
    permissions: { get: [USER, INTEGRATION], batchGet: [READS], query: [CONF], put: [AUDIT], update: [TOTAL], updateOutsideTransaction: [READS], delete: [INTEGRATION, CONF], conditionCheck: [USER] } },
  { route: 'POST /api/utm-integrations/{id}/module/restarted', handler: 'report-restart', contract: Integrations.ReportRestart,
    permissions: { get: [USER, INTEGRATION], put: [AUDIT], update: [INTEGRATION], conditionCheck: [USER] } },

  { route: 'POST /api/utm-integration-confs',         handler: 'create-parameter',    contract: Parameters.CreateParameter,
    permissions: { get: [USER, INTEGRATION], put: [CONF, AUDIT], update: [INTEGRATION, TOTAL], conditionCheck: [USER], keys: ['seal'] } },
  { route: 'PUT /api/utm-integration-confs',          handler: 'update-parameter',    contract: Parameters.UpdateParameter,
    permissions: { get: [USER], batchGet: [READS, INTEGRATION, CONF], put: [AUDIT], update: [INTEGRATION, CONF], updateOutsideTransaction: [READS], conditionCheck: [USER], keys: ['seal'] } },
  { route: 'GET /api/utm-integration-confs',          handler: 'list-parameters',     contract: Parameters.ListParameters,
    permissions: { get: [USER, INTEGRATION, CONF], batchGet: [READS, TOTAL, INTEGRATION], query: [CONF], updateOutsideTransaction: [READS], keys: ['unseal'] } },
  { route: 'GET /api/utm-integration-confs/count',    handler: 'count-parameters',    contract: Parameters.CountParameters,
    permissions: { get: [USER], batchGet: [READS, TOTAL], query: [CONF], updateOutsideTransaction: [READS] } },
  { route: 'GET /api/utm-integration-confs/{id}',     handler: 'get-parameter',       contract: Parameters.GetParameter,
    permissions: { get: [USER, INTEGRATION, CONF], batchGet: [READS], updateOutsideTransaction: [READS], keys: ['unseal'] } },
  { route: 'DELETE /api/utm-integration-confs/{id}',  handler: 'delete-parameter',    contract: Parameters.DeleteParameter,
    permissions: { get: [USER], batchGet: [READS, INTEGRATION, CONF], put: [AUDIT], update: [INTEGRATION, TOTAL], updateOutsideTransaction: [READS], delete: [CONF], conditionCheck: [USER] } },

  { route: 'GET /api/audits',                         handler: 'list-audits',         contract: ListAudits,
    permissions: { get: [USER], batchGet: [READS], query: [AUDIT], updateOutsideTransaction: [READS] } },
];

/**
 * One endpoint: its route, its handler file in functions/ without extension, its contract and its
 * permissions.
 */
export interface Route {
  readonly route: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`;
  readonly handler: string;
  readonly contract: Contract;
  readonly permissions: Permissions;
  /**
   * Gives the route its own API Gateway throttle and its function reserved concurrency. For public
   * endpoints that hash passwords or cause mail.
   */
  readonly strictThrottle?: true;
}

/**
 * The partition keys that a function may use, by DynamoDB operation, and its KMS keys. Everything
 * else is denied.
 */
export interface Permissions {
  readonly get?: readonly string[];
  readonly batchGet?: readonly string[];
  readonly query?: readonly string[];
  readonly put?: readonly string[];
  readonly update?: readonly string[];
  /**
   * Updates outside of a transaction; `put`, `update` and `delete` are allowed in transactions
   * only.
   */
  readonly updateOutsideTransaction?: readonly string[];
  readonly delete?: readonly string[];
  readonly conditionCheck?: readonly string[];
  /**
   * KMS: 'sign' is kms:Sign and kms:GetPublicKey, 'pepper' kms:GenerateMac, 'seal'
   * kms:GenerateDataKey, 'unseal' kms:Decrypt.
   */
  readonly keys?: readonly ('sign' | 'pepper' | 'seal' | 'unseal')[];
}

/**
 * The permissions in the route's row, plus reading the public keys if it requires a token, and the
 * precedence item if it is not a GET.
 */
export function permissionsOf({ route, contract, permissions }: Route): Permissions {
  if (contract.access === 'public') return permissions;
  const withKeySet = { ...permissions, query: [...(permissions.query ?? []), JWKS] };
  return route.startsWith('GET ')
    ? withKeySet
    : { ...withKeySet, get: [...(permissions.get ?? []), PRECEDENCE] };
}
