import * as Accounts from './lib/accounts/account-contracts.ts';
import { ListAudits } from './lib/audit/audit-contracts.ts';
import type { Contract } from './lib/contract/contract.ts';
import * as Identities from './lib/identities/identity-contracts.ts';
import * as Scim from './lib/identities/scim-contracts.ts';
import * as Integrations from './lib/integrations/integration-contracts.ts';
import * as Parameters from './lib/integrations/parameter-contracts.ts';
import * as Credentials from './lib/modules/credential-contracts.ts';
import * as Modules from './lib/modules/module-contracts.ts';
import { IssueToken } from './lib/modules/token-contract.ts';
import { PARTITION } from './lib/operations/item-kinds.ts';
import * as Overview from './lib/operations/overview/overview-contracts.ts';
import * as Plans from './lib/operations/plan/plan-contracts.ts';
import { GetHealth } from './lib/operations/status/health.ts';
import { GetConsole, GetInfo, GetOpenApi } from './lib/operations/status/status-contracts.ts';
import * as Sessions from './lib/sessions/session-contracts.ts';
import * as ApiTokens from './lib/tokens/api-token-contracts.ts';
import { PublishKeys } from './lib/tokens/token.ts';
import { ListUsers } from './lib/users/list-users.ts';
import { SESSION_COUNTS } from './lib/users/session-item.ts';
import * as Users from './lib/users/user-contracts.ts';
import { USER_UPDATES } from './lib/users/user-updates.ts';

/*
 * The whole API, one endpoint per row: route, handler in functions/, contract and the permissions
 * of its function. The console, which is not part of the API or its document, has its own table.
 */

const {
  user,
  login,
  email,
  administrators,
  arming,
  format,
  integration,
  parameter,
  credential,
  sequence,
  total,
  publicKey,
  resetKey,
  pendingEmail,
  resetMail,
  audit,
  attempts,
  session,
  apiToken,
  tokenUse,
  mail,
  mailCount,
  changes,
  reads,
  credentialUse,
  overview,
  planSet,
  identity,
  issuerKeys,
  assertion,
} = PARTITION;

const strictThrottle = true;

export const routes: readonly Route[] = [
  {
    route: 'POST /api/authenticate',
    handler: 'authenticate',
    contract: Accounts.Authenticate,
    permissions: {
      get: [login, user, publicKey, arming, administrators],
      batchGet: [login, attempts, arming, user],
      put: [publicKey, attempts, session, mail, audit],
      update: [attempts],
      conditionCheck: [arming],
      updateUser: USER_UPDATES.logIn,
      updateOutsideTransaction: [attempts],
      keys: ['sign', 'pepper', 'factor'],
    },
    strictThrottle,
  },
  {
    route: 'GET /api/issuers',
    handler: 'list-issuers',
    contract: Identities.ListIssuers,
    permissions: {},
  },
  {
    route: 'POST /api/issuers/preview',
    handler: 'preview-log-in',
    contract: Identities.PreviewLogIn,
    permissions: { get: [identity, login, email, user] },
  },
  {
    route: 'GET /.well-known/jwks.json',
    handler: 'publish-keys',
    contract: PublishKeys,
    permissions: { query: [publicKey] },
  },
  {
    route: 'GET /api/health',
    handler: 'get-health',
    contract: GetHealth,
    permissions: { get: [format] },
  },
  { route: 'GET /management/info', handler: 'get-info', contract: GetInfo, permissions: {} },
  { route: 'GET /api/openapi.json', handler: 'get-openapi', contract: GetOpenApi, permissions: {} },

  {
    route: 'GET /api/account',
    handler: 'get-account',
    contract: Accounts.GetAccount,
    permissions: {},
  },
  {
    route: 'POST /api/account',
    handler: 'update-account',
    contract: Accounts.UpdateAccount,
    permissions: {
      put: [email, mail, audit],
      updateUser: USER_UPDATES.account,
      delete: [email],
      conditionCheck: [user, session, email],
    },
  },
  {
    route: 'POST /api/account/confirm-email',
    handler: 'confirm-email',
    contract: Accounts.ConfirmEmail,
    permissions: {
      batchGet: [attempts, pendingEmail, user],
      put: [email, mail, audit],
      updateUser: USER_UPDATES.address,
      updateOutsideTransaction: [attempts],
      delete: [email, pendingEmail],
      keys: ['pepper'],
    },
    strictThrottle,
  },
  {
    route: 'POST /api/account/change-password',
    handler: 'change-password',
    contract: Accounts.ChangePassword,
    permissions: {
      batchGet: [attempts],
      put: [attempts, mail, audit],
      update: [attempts],
      updateUser: USER_UPDATES.password,
      updateSession: SESSION_COUNTS,
      updateOutsideTransaction: [attempts],
      keys: ['pepper'],
    },
  },
  {
    route: 'POST /api/logout',
    handler: 'log-out',
    contract: Sessions.LogOut,
    permissions: {
      get: [session],
      put: [audit],
      delete: [session],
      conditionCheck: [user],
    },
  },
  {
    route: 'GET /api/account/sessions',
    handler: 'list-sessions',
    contract: Sessions.ListSessions,
    permissions: {
      batchGet: [reads],
      query: [session],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'POST /api/account/end-other-sessions',
    handler: 'end-other-sessions',
    contract: Sessions.EndOtherSessions,
    permissions: {
      put: [audit],
      updateUser: USER_UPDATES.sessions,
      updateSession: SESSION_COUNTS,
    },
  },
  {
    route: 'POST /api/account/sessions/{series}/end',
    handler: 'end-session',
    contract: Sessions.EndSession,
    permissions: {
      get: [session],
      put: [audit],
      delete: [session],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'POST /api/account/tokens',
    handler: 'create-token',
    contract: ApiTokens.CreateToken,
    permissions: {
      put: [apiToken, mail, audit],
      updateUser: USER_UPDATES.tokens,
      conditionCheck: [session],
    },
  },
  {
    route: 'GET /api/account/tokens',
    handler: 'list-tokens',
    contract: ApiTokens.ListTokens,
    permissions: {
      batchGet: [reads, apiToken],
      query: [tokenUse],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'POST /api/account/tokens/{series}/delete',
    handler: 'delete-token',
    contract: ApiTokens.DeleteToken,
    permissions: {
      put: [audit],
      updateUser: USER_UPDATES.tokens,
      delete: [apiToken],
      conditionCheck: [session],
    },
  },
  {
    route: 'POST /api/account/identities',
    handler: 'link-own-identity',
    contract: Identities.LinkOwnIdentity,
    permissions: {
      batchGet: [attempts, issuerKeys],
      put: [attempts, identity, assertion, mail, audit],
      update: [attempts],
      updateUser: USER_UPDATES.ownIdentity,
      updateOutsideTransaction: [attempts],
      conditionCheck: [session],
      keys: ['pepper', 'factor'],
    },
  },
  {
    route: 'POST /api/account/second-factor',
    handler: 'request-second-factor',
    contract: Accounts.RequestFactor,
    permissions: {
      batchGet: [attempts],
      put: [attempts, audit],
      update: [attempts],
      updateUser: USER_UPDATES.factor,
      updateOutsideTransaction: [attempts],
      conditionCheck: [session],
      keys: ['pepper', 'factor'],
    },
  },
  {
    route: 'POST /api/account/second-factor/confirm',
    handler: 'confirm-second-factor',
    contract: Accounts.ConfirmFactor,
    permissions: {
      batchGet: [attempts],
      put: [attempts, mail, audit],
      update: [attempts],
      updateUser: USER_UPDATES.factor,
      updateSession: SESSION_COUNTS,
      updateOutsideTransaction: [attempts],
      keys: ['pepper', 'factor'],
    },
  },
  {
    route: 'POST /api/account/second-factor/disable',
    handler: 'disable-second-factor',
    contract: Accounts.DisableFactor,
    permissions: {
      batchGet: [attempts],
      put: [attempts, mail, audit],
      update: [attempts],
      updateUser: USER_UPDATES.factor,
      updateOutsideTransaction: [attempts],
      conditionCheck: [session],
      keys: ['pepper', 'factor'],
    },
  },
  {
    route: 'POST /api/account/second-factor/recovery-codes',
    handler: 'replace-recovery-codes',
    contract: Accounts.ReplaceRecoveryCodes,
    permissions: {
      batchGet: [attempts],
      put: [attempts, mail, audit],
      update: [attempts],
      updateUser: USER_UPDATES.factor,
      updateOutsideTransaction: [attempts],
      conditionCheck: [session],
      keys: ['pepper', 'factor'],
    },
  },
  {
    route: 'POST /api/account/reset-password/init',
    handler: 'request-reset',
    contract: Accounts.RequestReset,
    permissions: {
      batchGet: [attempts],
      put: [resetMail],
      updateOutsideTransaction: [attempts],
      keys: ['pepper'],
    },
    strictThrottle,
  },
  {
    route: 'POST /api/account/reset-password/finish',
    handler: 'finish-reset',
    contract: Accounts.FinishReset,
    permissions: {
      batchGet: [attempts, resetKey, user],
      put: [attempts, mail, audit],
      updateUser: USER_UPDATES.reset,
      updateOutsideTransaction: [attempts],
      delete: [resetKey],
      keys: ['pepper'],
    },
    strictThrottle,
  },

  {
    route: 'POST /api/users',
    handler: 'create-user',
    contract: Users.CreateUser,
    permissions: {
      put: [user, login, email, mail, audit],
      update: [administrators, total],
      updateOutsideTransaction: [sequence],
      conditionCheck: [user, session],
      keys: ['pepper'],
    },
  },
  {
    route: 'PUT /api/users',
    handler: 'update-user',
    contract: Users.UpdateUser,
    permissions: {
      get: [user],
      put: [login, email, mail, audit],
      update: [administrators],
      updateUser: USER_UPDATES.user,
      delete: [login, email],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'GET /api/users',
    handler: 'list-users',
    contract: ListUsers,
    permissions: {
      batchGet: [reads, total, login, email, user],
      query: [user],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'GET /api/users/authorities',
    handler: 'list-authorities',
    contract: Users.ListAuthorities,
    permissions: {},
  },
  {
    route: 'GET /api/users/{login}',
    handler: 'get-user',
    contract: Users.GetUser,
    permissions: { get: [login, user] },
  },
  {
    route: 'DELETE /api/users/{login}',
    handler: 'delete-user',
    contract: Users.DeleteUser,
    permissions: {
      get: [login, user],
      query: [session],
      put: [audit],
      update: [administrators, total],
      updateSession: ['deletedUser'],
      delete: [user, login, email, identity, apiToken],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'GET /api/users/{login}/sessions',
    handler: 'list-user-sessions',
    contract: Sessions.ListUserSessions,
    permissions: {
      get: [login, user],
      batchGet: [reads],
      query: [session],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'POST /api/users/{login}/end-sessions',
    handler: 'end-user-sessions',
    contract: Sessions.EndUserSessions,
    permissions: {
      get: [login, user],
      put: [audit],
      updateUser: USER_UPDATES.sessions,
      conditionCheck: [user, session],
    },
  },
  {
    route: 'POST /api/users/{login}/sessions/{series}/end',
    handler: 'end-user-session',
    contract: Sessions.EndUserSession,
    permissions: {
      get: [login, user, session],
      put: [audit],
      delete: [session],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'GET /api/users/{login}/tokens',
    handler: 'list-user-tokens',
    contract: ApiTokens.ListUserTokens,
    permissions: {
      get: [login, user],
      batchGet: [reads, apiToken],
      query: [tokenUse],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'POST /api/users/{login}/tokens/{series}/delete',
    handler: 'delete-user-token',
    contract: ApiTokens.DeleteUserToken,
    permissions: {
      get: [login, user],
      put: [audit],
      updateUser: USER_UPDATES.tokens,
      delete: [apiToken],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'POST /api/users/{login}/identities',
    handler: 'link-identity',
    contract: Identities.LinkIdentity,
    permissions: {
      get: [login, user],
      put: [identity, mail, audit],
      updateUser: USER_UPDATES.identities,
      conditionCheck: [user, session],
    },
  },
  {
    route: 'POST /api/users/{login}/identities/delete',
    handler: 'unlink-identity',
    contract: Identities.UnlinkIdentity,
    permissions: {
      get: [login, user],
      put: [mail, audit],
      updateUser: USER_UPDATES.identities,
      delete: [identity],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'POST /api/users/{login}/second-factor/remove',
    handler: 'remove-second-factor',
    contract: Users.RemoveSecondFactor,
    permissions: {
      get: [login, user],
      put: [mail, audit],
      updateUser: USER_UPDATES.factorRemoval,
      conditionCheck: [user, session],
    },
  },
  {
    route: 'POST /api/users/{login}/invite',
    handler: 'invite-user',
    contract: Users.InviteUser,
    permissions: {
      get: [login, user, mailCount],
      put: [mail, mailCount, audit],
      updateUser: USER_UPDATES.invitation,
      conditionCheck: [user, session],
    },
  },

  {
    route: 'POST /api/utm-integrations',
    handler: 'create-integration',
    contract: Integrations.CreateIntegration,
    permissions: {
      put: [integration, audit],
      update: [total],
      updateOutsideTransaction: [sequence],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'PUT /api/utm-integrations',
    handler: 'update-integration',
    contract: Integrations.UpdateIntegration,
    permissions: {
      get: [integration],
      put: [audit],
      update: [integration],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'GET /api/utm-integrations',
    handler: 'list-integrations',
    contract: Integrations.ListIntegrations,
    permissions: {
      batchGet: [reads, total, integration],
      query: [integration],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'GET /api/utm-integrations/count',
    handler: 'count-integrations',
    contract: Integrations.CountIntegrations,
    permissions: {
      batchGet: [reads, total, integration],
      query: [integration],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'GET /api/utm-integrations/{id}',
    handler: 'get-integration',
    contract: Integrations.GetIntegration,
    permissions: { get: [integration] },
  },
  {
    route: 'DELETE /api/utm-integrations/{id}',
    handler: 'delete-integration',
    contract: Integrations.DeleteIntegration,
    permissions: {
      get: [integration],
      batchGet: [reads],
      query: [parameter],
      put: [audit],
      update: [total],
      updateOutsideTransaction: [reads],
      delete: [integration, parameter, credential],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'POST /api/utm-integrations/{id}/module/restarted',
    handler: 'report-restart',
    contract: Integrations.ReportRestart,
    permissions: {
      get: [integration],
      put: [audit],
      update: [integration],
      conditionCheck: [user, session],
    },
  },

  {
    route: 'POST /api/utm-integrations/{id}/credentials',
    handler: 'create-credential',
    contract: Credentials.CreateCredential,
    permissions: {
      get: [integration],
      put: [credential, audit],
      update: [integration],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'GET /api/utm-integrations/{id}/credentials',
    handler: 'list-credentials',
    contract: Credentials.ListCredentials,
    permissions: { get: [integration], batchGet: [credentialUse] },
  },
  {
    route: 'POST /api/utm-integrations/{id}/credentials/{clientId}/delete',
    handler: 'delete-credential',
    contract: Credentials.DeleteCredential,
    permissions: {
      get: [integration],
      put: [audit],
      update: [integration],
      delete: [credential],
      conditionCheck: [user, session],
    },
  },
  {
    route: 'GET /api/module-issuers',
    handler: 'list-module-issuers',
    contract: Credentials.ListModuleIssuers,
    permissions: {},
  },
  {
    route: 'POST /api/oauth2/token',
    handler: 'issue-token',
    contract: IssueToken,
    permissions: {
      batchGet: [attempts, integration, credential, credentialUse],
      updateOutsideTransaction: [attempts, credentialUse],
      keys: ['signModule', 'pepper'],
    },
    withIssuers: {
      get: [user, administrators, identity, login, email, publicKey],
      batchGet: [issuerKeys, identity, assertion],
      put: [user, login, email, identity, assertion, session, publicKey, mail, audit],
      update: [administrators, total],
      updateUser: USER_UPDATES.identityLogIn,
      updateOutsideTransaction: [sequence],
      keys: ['sign'],
    },
    withModuleIssuers: { batchGet: [issuerKeys] },
  },
  {
    route: 'GET /api/modules',
    handler: 'list-modules',
    contract: Modules.ListModules,
    permissions: {
      batchGet: [reads, total, integration],
      query: [integration],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'GET /api/utm-integrations/{id}/module',
    handler: 'read-module',
    contract: Modules.ReadModule,
    permissions: {
      get: [integration, parameter],
      batchGet: [reads, integration, credential],
      query: [parameter],
      put: [audit],
      update: [integration],
      updateOutsideTransaction: [reads, integration],
      keys: ['unseal', 'verifyModule'],
    },
  },
  {
    route: 'POST /api/utm-integrations/{id}/module/report',
    handler: 'report-module',
    contract: Modules.ReportModule,
    permissions: {
      batchGet: [integration, credential],
      put: [audit],
      update: [integration],
      updateOutsideTransaction: [integration],
      keys: ['verifyModule'],
    },
  },

  {
    route: 'POST /api/utm-integration-confs',
    handler: 'create-parameter',
    contract: Parameters.CreateParameter,
    permissions: {
      get: [integration],
      put: [parameter, audit],
      update: [integration, total],
      conditionCheck: [user, session],
      keys: ['seal'],
    },
  },
  {
    route: 'PUT /api/utm-integration-confs',
    handler: 'update-parameter',
    contract: Parameters.UpdateParameter,
    permissions: {
      batchGet: [reads, integration, parameter],
      put: [audit],
      update: [integration, parameter],
      updateOutsideTransaction: [reads],
      conditionCheck: [user, session],
      keys: ['seal'],
    },
  },
  {
    route: 'GET /api/utm-integration-confs',
    handler: 'list-parameters',
    contract: Parameters.ListParameters,
    permissions: {
      get: [integration, parameter],
      batchGet: [reads, total, integration, parameter],
      query: [parameter],
      updateOutsideTransaction: [reads],
      keys: ['unseal'],
    },
  },
  {
    route: 'GET /api/utm-integration-confs/count',
    handler: 'count-parameters',
    contract: Parameters.CountParameters,
    permissions: {
      batchGet: [reads, total, parameter],
      query: [parameter],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'GET /api/utm-integration-confs/{id}',
    handler: 'get-parameter',
    contract: Parameters.GetParameter,
    permissions: {
      get: [integration, parameter],
      batchGet: [reads],
      updateOutsideTransaction: [reads],
      keys: ['unseal'],
    },
  },
  {
    route: 'DELETE /api/utm-integration-confs/{id}',
    handler: 'delete-parameter',
    contract: Parameters.DeleteParameter,
    permissions: {
      batchGet: [reads, integration, parameter],
      put: [audit],
      update: [integration, total],
      updateOutsideTransaction: [reads],
      delete: [parameter],
      conditionCheck: [user, session],
    },
  },

  {
    route: 'POST /api/plan',
    handler: 'make-plan',
    contract: Plans.MakePlan,
    permissions: {
      batchGet: [reads, login, email, user],
      query: [user, integration, parameter],
      updateOutsideTransaction: [reads],
      keys: ['unseal'],
    },
  },
  {
    route: 'POST /api/apply',
    handler: 'apply-plan',
    contract: Plans.ApplyPlan,
    permissions: {
      batchGet: [reads, login, email, user, total, planSet],
      query: [user, integration, parameter],
      put: [user, login, email, integration, parameter, mail, audit],
      update: [administrators, total, integration, parameter, planSet],
      updateUser: [...USER_UPDATES.user, ...USER_UPDATES.plan],
      updateOutsideTransaction: [reads, sequence],
      delete: [user, login, email, identity, integration, parameter, credential, apiToken],
      conditionCheck: [user, session],
      keys: ['unseal', 'seal'],
    },
  },

  {
    route: 'GET /scim/v2/ServiceProviderConfig',
    handler: 'get-scim-config',
    contract: Scim.GetScimConfig,
    permissions: {},
  },
  {
    route: 'GET /scim/v2/Users',
    handler: 'list-scim-users',
    contract: Scim.ListScimUsers,
    permissions: {
      get: [login, email, user],
      batchGet: [reads, total],
      query: [user],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'GET /scim/v2/Users/{id}',
    handler: 'get-scim-user',
    contract: Scim.GetScimUser,
    permissions: { get: [user] },
  },
  {
    route: 'PATCH /scim/v2/Users/{id}',
    handler: 'patch-scim-user',
    contract: Scim.PatchScimUser,
    permissions: {
      get: [user],
      put: [mail, audit],
      update: [administrators],
      updateUser: USER_UPDATES.activation,
      conditionCheck: [user, session],
    },
  },
  {
    route: 'DELETE /scim/v2/Users/{id}',
    handler: 'delete-scim-user',
    contract: Scim.DeleteScimUser,
    permissions: {
      get: [user],
      put: [mail, audit],
      update: [administrators],
      updateUser: USER_UPDATES.deactivation,
      conditionCheck: [user, session],
    },
  },

  {
    route: 'GET /api/audits',
    handler: 'list-audits',
    contract: ListAudits,
    permissions: {
      batchGet: [reads],
      query: [audit],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'GET /api/overview',
    handler: 'get-overview',
    contract: Overview.GetOverview,
    permissions: {
      get: [administrators],
      batchGet: [reads, overview, user],
      query: [audit],
      updateOutsideTransaction: [reads],
    },
  },
  {
    route: 'POST /api/overview/count',
    handler: 'count-overview',
    contract: Overview.CountOverview,
    permissions: {
      batchGet: [reads, total],
      query: [user, integration, audit],
      put: [overview],
      updateOutsideTransaction: [reads],
      conditionCheck: [user, session],
    },
  },
];

/** The console: one function for its page, every path of a screen, and its files. */
export const consoleRoutes: readonly Route[] = [
  { route: 'GET /console', handler: 'get-console', contract: GetConsole, permissions: {} },
  { route: 'GET /console/{path+}', handler: 'get-console', contract: GetConsole, permissions: {} },
];

/**
 * One endpoint: its route, its handler file in functions/ without extension, its contract and its
 * permissions.
 */
export interface Route {
  readonly route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  readonly handler: string;
  readonly contract: Contract;
  readonly permissions: Permissions;
  /** What the function may do besides in an environment with identity providers of people. */
  readonly withIssuers?: Permissions;
  /** What it may do besides in an environment with platforms whose tokens modules exchange. */
  readonly withModuleIssuers?: Permissions;
  /**
   * Gives the route its own API Gateway throttle and its function reserved concurrency. For public
   * endpoints that hash passwords or cause mail.
   */
  readonly strictThrottle?: true;
}

/**
 * The partition keys that a function may use, by DynamoDB operation, the attributes of users that
 * it may update, and its KMS keys. Everything else is denied.
 */
export interface Permissions {
  readonly get?: readonly string[];
  readonly batchGet?: readonly string[];
  readonly query?: readonly string[];
  readonly put?: readonly string[];
  readonly update?: readonly string[];
  /**
   * The attributes of existing users and sessions that updates may name. `update` covers neither
   * kind.
   */
  readonly updateUser?: readonly string[];
  readonly updateSession?: readonly string[];
  /**
   * Updates outside of a transaction; all other permissions to write are for transactions only.
   */
  readonly updateOutsideTransaction?: readonly string[];
  readonly delete?: readonly string[];
  readonly conditionCheck?: readonly string[];
  /**
   * KMS: 'sign' and 'signModule' are kms:Sign and kms:GetPublicKey, 'verifyModule'
   * kms:GetPublicKey, 'pepper' and 'factor' kms:GenerateMac, 'seal' kms:GenerateDataKey, 'unseal'
   * kms:Decrypt.
   */
  readonly keys?: readonly (
    | 'sign'
    | 'signModule'
    | 'verifyModule'
    | 'pepper'
    | 'factor'
    | 'seal'
    | 'unseal'
  )[];
}

/** A row as it is deployed, with or without identity providers of people and of modules. */
export function deployedRow(
  { withIssuers = {}, withModuleIssuers = {}, ...row }: Route,
  has: { readonly issuers: boolean; readonly moduleIssuers: boolean },
): Route {
  const all: Permissions[] = [
    row.permissions,
    ...(has.issuers ? [withIssuers] : []),
    ...(has.moduleIssuers ? [withModuleIssuers] : []),
  ];
  const actions = all.flatMap((each) => Object.keys(each) as (keyof Permissions)[]);
  const merged = (action: keyof Permissions) => all.flatMap((each) => each[action] ?? []);
  return {
    ...row,
    permissions: Object.fromEntries(
      actions.map((action) => [action, [...new Set(merged(action))]]),
    ),
  };
}

/**
 * The permissions in the route's row, plus reading the public keys, the caller's user and session
 * and API tokens, if it requires a token, counting changes if users change something by it, and
 * recording the use of API tokens if it accepts them.
 */
export function permissionsOf({ route, contract, permissions }: Route): Permissions {
  if (contract.access === 'public') return permissions;
  const { get = [], batchGet = [], query = [], conditionCheck } = permissions;
  const { updateOutsideTransaction = [] } = permissions;
  const acceptsTokens = contract.scope !== undefined;
  return {
    ...permissions,
    get: [...get, apiToken],
    batchGet: [...new Set([...batchGet, user, session])],
    query: [...query, publicKey],
    ...(conditionCheck && acceptsTokens && { conditionCheck: [...conditionCheck, apiToken] }),
    updateOutsideTransaction: [
      ...updateOutsideTransaction,
      ...(countsChanges({ route, contract }) ? [changes] : []),
      ...(acceptsTokens ? [tokenUse] : []),
    ],
  };
}

/** Whether the caller's changes by this route are counted (lib/users/account-limits.ts). */
export const countsChanges = ({
  route,
  contract: { access, kind },
}: Pick<Route, 'route' | 'contract'>) =>
  !(route.startsWith('GET ') || kind === 'read') &&
  (typeof access === 'object'
    ? access.anyRole.length > 0
    : access === 'authenticated' || access === 'enrolling');
