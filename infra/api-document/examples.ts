import type { ResponseHeader } from '../../lib/contract/contract.ts';
import { SCIM_CONFIG } from '../../lib/identities/scim-contracts.ts';
import type { Route } from '../../routes.ts';

/*
 * One example of a request to each route, with its response. The API document shows them, and
 * people send them from the API reference, as administrators and with real data, so examples of
 * changes name nothing that exists. Tests replace the placeholders, and send the requests in this
 * order to an instance without data; the smoke test sends them to a deployment.
 */

/** Values that are valid, and that no entity or caller has. */
export const PLACEHOLDERS = {
  userId: 900_000_001,
  integrationId: 900_000_002,
  parameterId: 900_000_002_000_001,
  login: 'no-such-user',
  /** The service accepts no quoted address. */
  ownEmail: '"your address"@example.com',
  foreignEmail: 'nobody@example.com',
  newEmail: '"the address"@example.com',
  password: 'your current password',
  key: 'the key in the mail',
  code: 'a code of your authenticator',
  series: 'no-such-series',
  /** It has passed. */
  expires: '2001-01-01T00:00:00Z',
  /** The service may know no provider. */
  issuer: 'https://login.example.com/company',
  subject: 'b6d1c2f0-5a57-4d0c-9b0e-3f4c1c1f7a55',
  assertion: 'the ID token of the provider',
  codeVerifier: 'a-code-verifier-of-43-to-128-characters-0123',
  clientId: 'module-900000002-000000000000',
  clientSecret: 'the secret that was shown once',
  /** The user of the examples that change nothing. */
  shownLogin: 'etienne',
  shownEmail: 'etienne@example.com',
} as const;

export type ExampleValues = Partial<Record<keyof typeof PLACEHOLDERS, string | number>>;

/** A part of an example with these values for its placeholders. */
export function fillExample<T>(part: T, values: ExampleValues): T {
  const names = new Map<unknown, keyof typeof PLACEHOLDERS>(
    Object.entries(PLACEHOLDERS).map(([name, placeholder]) => [placeholder, name as never]),
  );
  const fill = (_: string, value: unknown) => {
    const name = names.get(value);
    return (name && values[name]) ?? value;
  };
  return part === undefined ? part : JSON.parse(JSON.stringify(part), fill);
}

export interface Example {
  /**
   * What must exist before the request can succeed: `integration` is one with parameters, an
   * `invitee` is a user without a password; `ownSession`, `ownToken` (an API token) and `ownFactor`
   * belong to the caller, `session`, `token` and `factor` to another user. A `pendingFactor` is one
   * of the caller that no code has confirmed. An `identity` is linked with another user, an
   * `idToken` names one that is linked with nobody. A `credential` is one of the module of an
   * integration with parameters.
   */
  readonly needs?:
    | 'user'
    | 'invitee'
    | 'integration'
    | 'credential'
    | 'resetKey'
    | 'confirmationKey'
    | 'ownSession'
    | 'session'
    | 'ownToken'
    | 'token'
    | 'pendingFactor'
    | 'ownFactor'
    | 'identity'
    | 'idToken'
    | 'factor';
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly response?: unknown;
  /** The headers that only some responses have, with `*` for what differs from run to run. */
  readonly headers?: Readonly<Partial<Record<ResponseHeader, string>>>;
}

const DATE = '2026-11-22T09:30:00.000Z';
const changedBy = (actor: string) => ({
  createdBy: actor,
  createdDate: DATE,
  lastModifiedBy: actor,
  lastModifiedDate: DATE,
});
const ETIENNE = {
  login: PLACEHOLDERS.shownLogin,
  email: PLACEHOLDERS.shownEmail,
  firstName: 'Étienne',
  lastName: 'Moreau',
  activated: true,
  langKey: 'fr',
  authorities: ['ROLE_USER'],
};
const STORED = {
  id: 3,
  ...ETIENNE,
  imageUrl: null,
  ...changedBy('admin'),
  lastLogin: null,
  secondFactor: false,
  state: 'invited',
  invitedUntil: '2026-11-23T09:30:00.000Z',
  tokensExpire: null,
};
const SCIM_USER = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  id: '3',
  userName: ETIENNE.login,
  name: { givenName: ETIENNE.firstName, familyName: ETIENNE.lastName },
  active: true,
  emails: [{ value: ETIENNE.email, type: 'work', primary: true }],
  meta: {
    resourceType: 'User',
    created: DATE,
    lastModified: DATE,
    location: '/scim/v2/Users/3',
    version: '"4-5f0c8c1e-3b0a-4a52-9d6c-2f1f0e7d9b11"',
  },
};
const ADMIN = {
  id: 1,
  login: 'admin',
  firstName: 'Administrator',
  lastName: 'Administrator',
  email: 'admin@example.com',
  imageUrl: null,
  activated: true,
  langKey: 'en',
  authorities: ['ROLE_ADMIN', 'ROLE_USER'],
  ...changedBy('system'),
};
const INTEGRATION = {
  name: 'Office firewall',
  shortName: 'firewall',
  description: 'Syslog over TLS',
  integrationType: 'COLLECTOR',
  active: true,
};
const NEW_INTEGRATION = { id: 1, ...INTEGRATION, module: null };
/** Of a module that nobody has seen. */
const MODULE_STATE = {
  progress: 'unseen',
  wanted: 4,
  running: null,
  failed: null,
  reason: null,
  lastSeen: null,
  flapping: false,
};
const PARAMETER = {
  integration: { id: PLACEHOLDERS.integrationId },
  confName: 'port',
  confValue: '6514',
  confDescription: 'TCP',
};
const NEW_PARAMETER = {
  id: 1_000_001,
  ...PARAMETER,
  integration: { id: 1, name: INTEGRATION.name, module: null },
};
const KEY = {
  kty: 'EC',
  crv: 'P-256',
  alg: 'ES256',
  use: 'sig',
  kid: '2Yk0nU2fTq6mNn0uRk7C3T0S1r8w0Jc0m1v8rY0yC0k',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
};

const RECOVERY_CODES = { recoveryCodes: ['K7QD-3MZA', '5XEB-WT2N'] };

const TOKEN = {
  series: '0mi9x2k3aQ7fZ0cJ4tRw2N',
  name: 'Backup',
  scopes: ['integrations:read'],
  createdDate: DATE,
  expires: '2026-12-22T09:30:00.000Z',
};
const LISTED_TOKEN = { ...TOKEN, lastUsed: null, lastAddress: null };
const FILES = {
  set: 'office',
  users: [
    { login: PLACEHOLDERS.shownLogin, email: PLACEHOLDERS.shownEmail, authorities: ['ROLE_USER'] },
  ],
};
const PLAN = {
  digest: 'kR2l1mB0Q7sYxZ3vT9uWcE5dF8gH4jK6nP0qS2tV1wA',
  changes: [
    {
      action: 'user.created',
      name: PLACEHOLDERS.shownLogin,
      changes: [
        { field: 'login', to: PLACEHOLDERS.shownLogin },
        { field: 'email', to: PLACEHOLDERS.shownEmail },
        { field: 'activated', to: true },
        { field: 'langKey', to: 'en' },
        { field: 'authorities', added: ['ROLE_USER'] },
        { field: 'managedBy', to: 'office' },
      ],
    },
  ],
  unchanged: 0,
  refused: 0,
  secrets: [],
};
const SESSION = {
  series: 'b6Qe1Xo9rT0uYk2m',
  tokenDate: DATE,
  ipAddress: '198.51.100.7',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  remembered: false,
  secondFactor: false,
  issuer: null,
  expires: '2026-11-22T17:30:00.000Z',
  current: true,
};

const ENTRY = {
  id: '5f0c8c1e-3b0a-4a52-9d6c-2f1f0e7d9b11',
  time: DATE,
  actor: 'admin',
  actorId: 1,
  action: 'user.updated',
  target: 'user/3',
  targetName: 'etienne',
  integrationId: null,
  integrationName: null,
  fields: ['authorities'],
  changes: [{ field: 'authorities', added: ['ROLE_ANALYST'] }],
  session: 'b1f6a2d4-5c0e-4d1b-8f57-3e9a7c2d6b10',
  source: '192.0.2.7',
  count: null,
};

const OVERVIEW = {
  countedAt: DATE,
  counts: {
    users: 36,
    administratorsWithoutSecondFactor: 1,
    usersNeverLoggedIn: 2,
    usersInactive: 3,
    deactivatedUsersWithRoles: 1,
    expiredInvitations: 0,
    modulesFailed: 1,
    modulesBehind: 0,
    modulesSilent: 0,
    modulesWithExpiringCredentials: 1,
    refusedLogins: 4,
  },
  days: [{ day: '2026-11-22', logins: 31, changes: 7 }],
  administrators: [{ login: 'admin', secondFactor: true, lastLogin: DATE }],
  latest: [ENTRY],
};

const version = (revision: number) => ({ ETag: `"${revision}-*"` });
const alert = (event: string, params: string | number) => ({
  'X-gatehouseApp-alert': event,
  'X-gatehouseApp-params': String(params),
});
const integrationAlert = (event: string) => alert(`gatehouseApp.utmIntegration.${event}`, 1);
const parameterAlert = (event: string) =>
  alert(`gatehouseApp.utmIntegrationConf.${event}`, 1_000_001);
/** A query of a list with one page, and its response. */
const onlyPage = (path: string, query: Record<string, string>, entity: object) => ({
  query,
  response: [entity],
  headers: {
    'X-Total-Count': '1',
    Link: ['last', 'first']
      .map((rel) => `<${path}?page=0&size=20&${new URLSearchParams(query)}>; rel="${rel}"`)
      .join(),
  },
});

export const EXAMPLES: Readonly<Record<Route['route'], Example>> = {
  'POST /api/authenticate': {
    body: { username: 'admin', password: 'admin', code: '', rememberMe: false },
    response: { id_token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl' },
    headers: { Authorization: 'Bearer *' },
  },
  'GET /api/issuers': {
    response: [
      {
        issuer: PLACEHOLDERS.issuer,
        name: 'Company account',
        clientId: 'gatehouse',
        authorizationEndpoint: 'https://login.example.com/company/authorize',
        tokenEndpoint: 'https://login.example.com/company/token',
        passwords: true,
      },
    ],
  },
  'POST /api/issuers/preview': {
    body: {
      issuer: PLACEHOLDERS.issuer,
      claims: { sub: PLACEHOLDERS.subject, preferred_username: 'etienne', groups: ['admins'] },
    },
    response: {
      roles: ['ROLE_ADMIN'],
      account: null,
      created: true,
      login: 'etienne',
      email: null,
      secondFactor: false,
    },
  },
  'GET /.well-known/jwks.json': { response: { keys: [KEY] } },
  'GET /api/health': { response: { status: 'UP' } },
  'GET /management/info': {
    response: {
      activeProfiles: ['prod'],
      build: {
        version: '1.0.0',
        commit: '1f0c1d2e3a4b5c6d7e8f90a1b2c3d4e5f6a7b8c9',
        time: '2027-01-15T10:00:00Z',
      },
    },
  },

  'POST /api/users': {
    body: { ...ETIENNE, email: PLACEHOLDERS.newEmail },
    response: STORED,
    headers: {
      ...alert('userManagement.created', 'etienne'),
      ...version(1),
      Location: '/api/users/etienne',
    },
  },
  'GET /api/users': onlyPage('/api/users', { 'login.contains': 'etie' }, STORED),
  'GET /api/users/authorities': { response: ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'] },
  'GET /api/users/{login}': {
    needs: 'user',
    path: { login: PLACEHOLDERS.shownLogin },
    response: STORED,
    headers: version(1),
  },
  'PUT /api/users': {
    needs: 'user',
    body: { id: PLACEHOLDERS.userId, ...ETIENNE, authorities: ['ROLE_USER', 'ROLE_ANALYST'] },
    response: { ...STORED, authorities: ['ROLE_USER', 'ROLE_ANALYST'] },
    headers: { ...alert('userManagement.updated', 'etienne'), ...version(2) },
  },
  'POST /api/users/{login}/invite': {
    needs: 'invitee',
    path: { login: PLACEHOLDERS.login },
  },

  'POST /api/utm-integrations': {
    body: INTEGRATION,
    response: NEW_INTEGRATION,
    headers: {
      ...integrationAlert('created'),
      ...version(1),
      Location: '/api/utm-integrations/1',
    },
  },
  'GET /api/utm-integrations': onlyPage(
    '/api/utm-integrations',
    { sort: 'name,asc', 'active.equals': 'true' },
    NEW_INTEGRATION,
  ),
  'GET /api/utm-integrations/count': {
    query: { 'integrationType.in': 'COLLECTOR,SCANNER' },
    response: 1,
  },
  'GET /api/utm-integrations/{id}': {
    needs: 'integration',
    path: { id: 1 },
    response: NEW_INTEGRATION,
    headers: version(1),
  },
  'PUT /api/utm-integrations': {
    needs: 'integration',
    body: { id: PLACEHOLDERS.integrationId, ...INTEGRATION, active: false },
    response: { ...NEW_INTEGRATION, active: false },
    headers: { ...integrationAlert('updated'), ...version(2) },
  },

  'POST /api/utm-integration-confs': {
    needs: 'integration',
    body: PARAMETER,
    response: NEW_PARAMETER,
    headers: {
      ...parameterAlert('created'),
      ...version(1),
      Location: '/api/utm-integration-confs/1000001',
    },
  },
  'GET /api/utm-integration-confs': {
    needs: 'integration',
    ...onlyPage('/api/utm-integration-confs', { 'integrationId.equals': '1' }, NEW_PARAMETER),
  },
  'GET /api/utm-integration-confs/count': { response: 1 },
  'GET /api/utm-integration-confs/{id}': {
    needs: 'integration',
    path: { id: 1_000_001 },
    response: NEW_PARAMETER,
    headers: version(1),
  },
  'PUT /api/utm-integration-confs': {
    needs: 'integration',
    body: { id: PLACEHOLDERS.parameterId, ...PARAMETER, confValue: '6515' },
    response: {
      ...NEW_PARAMETER,
      integration: { ...NEW_PARAMETER.integration, module: { needsRestart: true, changes: 1 } },
      confValue: '6515',
    },
    headers: { ...parameterAlert('updated'), ...version(2) },
  },
  'POST /api/utm-integrations/{id}/module/restarted': {
    needs: 'integration',
    path: { id: PLACEHOLDERS.integrationId },
    body: { changes: 1 },
    response: { ...NEW_INTEGRATION, active: false, module: { needsRestart: false, changes: 1 } },
    headers: { ...integrationAlert('updated'), ...version(4) },
  },
  'POST /api/utm-integrations/{id}/credentials': {
    needs: 'integration',
    path: { id: PLACEHOLDERS.integrationId },
    body: { expires: null },
    response: {
      clientId: 'module-1-0Vx7Qm3pKs9T',
      clientSecret: 'ghm_4kPqZ0mXb7RtYw2LsVn8CjHd6GfAe3UiOz1QyTxWr5E0uB9pN',
      expires: DATE,
    },
    headers: { ...integrationAlert('updated'), Location: '/api/utm-integrations/1/credentials/*' },
  },
  'GET /api/utm-integrations/{id}/credentials': {
    needs: 'credential',
    path: { id: PLACEHOLDERS.integrationId },
    response: [
      {
        clientId: 'module-1-0Vx7Qm3pKs9T',
        createdDate: DATE,
        createdBy: 'admin',
        expires: DATE,
        lastUsed: null,
      },
    ],
  },
  'GET /api/module-issuers': {
    response: [
      {
        issuer: 'https://token.actions.githubusercontent.com',
        audience: 'https://gatehouse.example.com',
      },
    ],
  },
  'POST /api/oauth2/token': {
    needs: 'credential',
    body: {
      grant_type: 'client_credentials',
      client_id: PLACEHOLDERS.clientId,
      client_secret: PLACEHOLDERS.clientSecret,
    },
    response: {
      access_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6Im1vZHVsZStqd3QifQ.eyJzdWIiOiJtb2R1bGUifQ.c2ln',
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'module',
    },
  },
  'GET /api/utm-integrations/{id}/module': {
    needs: 'integration',
    path: { id: PLACEHOLDERS.integrationId },
    response: {
      integration: { id: 1, ...INTEGRATION, active: false },
      parameters: [],
      module: MODULE_STATE,
    },
  },
  'GET /api/modules': {
    ...onlyPage(
      '/api/modules',
      { 'progress.equals': 'unseen' },
      {
        id: 1,
        name: INTEGRATION.name,
        active: false,
        ...MODULE_STATE,
        credentials: 1,
        credentialsExpire: DATE,
      },
    ),
  },
  'POST /api/utm-integrations/{id}/module/report': {
    needs: 'credential',
    path: { id: PLACEHOLDERS.integrationId },
    body: { running: 1 },
    response: { ...MODULE_STATE, progress: 'behind', running: 1, lastSeen: DATE },
  },
  'POST /api/utm-integrations/{id}/credentials/{clientId}/delete': {
    needs: 'credential',
    path: { id: PLACEHOLDERS.integrationId, clientId: PLACEHOLDERS.clientId },
    headers: integrationAlert('updated'),
  },
  'DELETE /api/utm-integration-confs/{id}': {
    needs: 'integration',
    path: { id: PLACEHOLDERS.parameterId },
    headers: parameterAlert('deleted'),
  },
  'DELETE /api/utm-integrations/{id}': {
    needs: 'integration',
    path: { id: PLACEHOLDERS.integrationId },
    headers: integrationAlert('deleted'),
  },

  'GET /api/account': {
    response: {
      ...ADMIN,
      secondFactor: false,
      recoveryCodesLeft: 0,
      secondFactorRequiredFrom: null,
      identities: [],
    },
  },
  'POST /api/account': {
    body: { firstName: 'Ada', lastName: 'Admin', email: PLACEHOLDERS.ownEmail, langKey: 'en' },
  },
  'GET /api/account/sessions': { needs: 'ownSession', response: [SESSION] },
  'POST /api/account/sessions/{series}/end': {
    needs: 'ownSession',
    path: { series: PLACEHOLDERS.series },
  },
  'POST /api/account/end-other-sessions': {},
  'POST /api/account/tokens': {
    body: { name: 'Backup', scopes: ['integrations:read'], expires: PLACEHOLDERS.expires },
    response: {
      ...TOKEN,
      token: 'gha_1_0mi9x2k3aQ7fZ0cJ4tRw2N_4wXKkq0l6JtZ1nQF5vYcT8sRb2dPzW9aHgLmU7eBoVx1pjIb3',
    },
  },
  'GET /api/account/tokens': { needs: 'ownToken', response: [LISTED_TOKEN] },
  'POST /api/account/tokens/{series}/delete': {
    needs: 'ownToken',
    path: { series: PLACEHOLDERS.series },
  },
  'POST /api/account/identities': {
    needs: 'idToken',
    body: {
      assertion: PLACEHOLDERS.assertion,
      codeVerifier: PLACEHOLDERS.codeVerifier,
      currentPassword: PLACEHOLDERS.password,
    },
  },
  'POST /api/account/second-factor': {
    body: { currentPassword: PLACEHOLDERS.password },
    response: {
      secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
      uri:
        'otpauth://totp/gatehouse-prod:admin?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&' +
        'issuer=gatehouse-prod&algorithm=SHA1&digits=6&period=30',
    },
  },
  'POST /api/account/second-factor/confirm': {
    needs: 'pendingFactor',
    body: { code: PLACEHOLDERS.code },
    response: RECOVERY_CODES,
  },
  'POST /api/account/second-factor/recovery-codes': {
    needs: 'ownFactor',
    body: { currentPassword: PLACEHOLDERS.password, code: PLACEHOLDERS.code },
    response: RECOVERY_CODES,
  },
  'POST /api/account/second-factor/disable': {
    needs: 'ownFactor',
    body: { currentPassword: PLACEHOLDERS.password, code: PLACEHOLDERS.code },
  },
  'POST /api/account/change-password': {
    body: { currentPassword: PLACEHOLDERS.password, newPassword: 'correct horse battery' },
  },
  'POST /api/account/confirm-email': {
    needs: 'confirmationKey',
    body: { key: PLACEHOLDERS.key },
  },
  'POST /api/account/reset-password/init': { body: { email: PLACEHOLDERS.foreignEmail } },
  'POST /api/account/reset-password/finish': {
    needs: 'resetKey',
    body: { key: PLACEHOLDERS.key, newPassword: 'staple in the tin' },
  },
  'GET /api/users/{login}/sessions': {
    needs: 'session',
    path: { login: PLACEHOLDERS.login },
    response: [{ ...SESSION, current: false }],
  },
  'POST /api/users/{login}/sessions/{series}/end': {
    needs: 'session',
    path: { login: PLACEHOLDERS.login, series: PLACEHOLDERS.series },
  },
  'POST /api/users/{login}/end-sessions': {
    needs: 'user',
    path: { login: PLACEHOLDERS.login },
  },
  'GET /api/users/{login}/tokens': {
    needs: 'token',
    path: { login: PLACEHOLDERS.login },
    response: [LISTED_TOKEN],
  },
  'POST /api/users/{login}/tokens/{series}/delete': {
    needs: 'token',
    path: { login: PLACEHOLDERS.login, series: PLACEHOLDERS.series },
  },
  'POST /api/users/{login}/identities': {
    needs: 'user',
    path: { login: PLACEHOLDERS.login },
    body: { issuer: PLACEHOLDERS.issuer, subject: PLACEHOLDERS.subject },
    headers: alert('userManagement.updated', 'etienne'),
  },
  'POST /api/users/{login}/identities/delete': {
    needs: 'identity',
    path: { login: PLACEHOLDERS.login },
    body: { issuer: PLACEHOLDERS.issuer },
    headers: alert('userManagement.updated', 'etienne'),
  },
  'POST /api/users/{login}/second-factor/remove': {
    needs: 'factor',
    path: { login: PLACEHOLDERS.login },
  },
  'GET /api/audits': {
    query: { 'action.equals': 'user.updated' },
    response: [ENTRY],
    headers: { Link: '</api/audits?page=0&size=20&action.equals=user.updated>; rel="first"' },
  },
  'GET /scim/v2/ServiceProviderConfig': { response: SCIM_CONFIG },
  'GET /scim/v2/Users': {
    query: { filter: 'userName eq "etienne"' },
    response: {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: 1,
      startIndex: 1,
      itemsPerPage: 1,
      Resources: [SCIM_USER],
    },
  },
  'GET /scim/v2/Users/{id}': {
    needs: 'user',
    path: { id: PLACEHOLDERS.userId },
    response: SCIM_USER,
    headers: version(4),
  },
  'PATCH /scim/v2/Users/{id}': {
    needs: 'user',
    path: { id: PLACEHOLDERS.userId },
    body: {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'replace', path: 'active', value: false }],
    },
    response: { ...SCIM_USER, active: false },
    headers: version(5),
  },
  'DELETE /scim/v2/Users/{id}': { needs: 'user', path: { id: PLACEHOLDERS.userId } },
  'DELETE /api/users/{login}': {
    needs: 'user',
    path: { login: PLACEHOLDERS.login },
    headers: alert('userManagement.deleted', 'etienne'),
  },
  'POST /api/plan': { body: FILES, response: PLAN, headers: { ETag: '*' } },
  'POST /api/apply': {
    body: { set: 'office' },
    response: { applied: 0, rest: null, retryAfter: null },
  },
  'POST /api/overview/count': {},
  'GET /api/overview': { response: OVERVIEW },
  'POST /api/logout': {},
  'GET /api/openapi.json': {},
};
