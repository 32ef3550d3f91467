import type { Route } from '../../routes.ts';

/*
 * Examples of requests and responses. People send them from the API reference, as administrators
 * and with real data, so examples of changes name nothing that exists. A test replaces these
 * placeholders and sends the requests in this order to an instance without data.
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
} as const;

/** A request, with the values of its path parameters, and the body of its response. */
export interface Example {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly response?: unknown;
}

const DATE = '2026-11-22T09:30:00.000Z';
const ETIENNE = {
  login: 'etienne',
  email: 'etienne@example.com',
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
  createdBy: 'admin',
  createdDate: DATE,
  lastModifiedBy: 'admin',
  lastModifiedDate: DATE,
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
  createdBy: 'system',
  createdDate: DATE,
  lastModifiedBy: 'system',
  lastModifiedDate: DATE,
};
const INTEGRATION = {
  name: 'Office firewall',
  shortName: 'firewall',
  description: 'Syslog over TLS',
  integrationType: 'COLLECTOR',
  active: true,
};
const NEW_INTEGRATION = { id: 1, ...INTEGRATION, module: null };
const PARAMETER = {
  integration: { id: PLACEHOLDERS.integrationId },
  confName: 'port',
  confValue: '6514',
  confDescription: 'TCP',
};
const flagged = (changes: number) => ({ needsRestart: true, changes });
const parameter = (confValue: string, module: object | null) => ({
  id: 1_000_001,
  integration: { id: 1, name: INTEGRATION.name, module },
  confName: 'port',
  confValue,
  confDescription: 'TCP',
});
const KEY = {
  kty: 'EC',
  crv: 'P-256',
  alg: 'ES256',
  use: 'sig',
  kid: '2Yk0nU2fTq6mNn0uRk7C3T0S1r8w0Jc0m1v8rY0yC0k',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
};

/** The example of every route. */
export const EXAMPLES: Readonly<Record<Route['route'], Example>> = {
  'POST /api/authenticate': {
    body: { username: 'admin', password: 'admin', rememberMe: false },
    response: { id_token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl' },
  },
  'GET /.well-known/jwks.json': { response: { keys: [KEY] } },
  'GET /api/health': { response: { status: 'UP' } },
  'GET /management/info': { response: { activeProfiles: ['prod'] } },

  'POST /api/users': { body: { ...ETIENNE, email: PLACEHOLDERS.newEmail }, response: STORED },
  'GET /api/users': { query: 'login.contains=etie', response: [STORED] },
  'GET /api/users/authorities': { response: ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'] },
  'GET /api/users/{login}': { path: { login: 'etienne' }, response: STORED },
  'PUT /api/users': {
    body: { id: PLACEHOLDERS.userId, ...ETIENNE, authorities: ['ROLE_USER', 'ROLE_ANALYST'] },
    response: { ...STORED, authorities: ['ROLE_USER', 'ROLE_ANALYST'] },
  },

  'POST /api/utm-integrations': { body: INTEGRATION, response: NEW_INTEGRATION },
  'GET /api/utm-integrations': {
    query: 'sort=name,asc&active.equals=true',
    response: [NEW_INTEGRATION],
  },
  'GET /api/utm-integrations/count': { query: 'integrationType.in=COLLECTOR,SCANNER', response: 1 },
  'GET /api/utm-integrations/{id}': { path: { id: 1 }, response: NEW_INTEGRATION },
  'PUT /api/utm-integrations': {
    body: { id: PLACEHOLDERS.integrationId, ...INTEGRATION, active: false },
    response: { ...NEW_INTEGRATION, active: false },
  },

  'POST /api/utm-integration-confs': { body: PARAMETER, response: parameter('6514', null) },
  'GET /api/utm-integration-confs': {
    query: 'integrationId.equals=1',
    response: [parameter('6514', null)],
  },
  'GET /api/utm-integration-confs/count': { response: 1 },
  'GET /api/utm-integration-confs/{id}': {
    path: { id: 1_000_001 },
    response: parameter('6514', null),
  },
  'PUT /api/utm-integration-confs': {
    body: { id: PLACEHOLDERS.parameterId, ...PARAMETER, confValue: '6515' },
    response: parameter('6515', flagged(1)),
  },
  'POST /api/utm-integrations/{id}/module/restarted': {
    path: { id: PLACEHOLDERS.integrationId },
    body: { changes: 1 },
    response: { ...NEW_INTEGRATION, active: false, module: { needsRestart: false, changes: 1 } },
  },
  'DELETE /api/utm-integration-confs/{id}': { path: { id: PLACEHOLDERS.parameterId } },
  'DELETE /api/utm-integrations/{id}': { path: { id: PLACEHOLDERS.integrationId } },

  'GET /api/account': { response: ADMIN },
  'POST /api/account': {
    body: { firstName: 'Ada', lastName: 'Admin', email: PLACEHOLDERS.ownEmail, langKey: 'en' },
  },
  'POST /api/account/change-password': {
    body: { currentPassword: PLACEHOLDERS.password, newPassword: 'correct horse battery' },
  },
  'POST /api/account/reset-password/init': { body: { email: PLACEHOLDERS.foreignEmail } },
  'POST /api/account/reset-password/finish': {
    body: { key: PLACEHOLDERS.key, newPassword: 'staple in the tin' },
  },
  'DELETE /api/users/{login}': { path: { login: PLACEHOLDERS.login } },
  'GET /api/audits': {
    query: 'action.equals=user.updated',
    response: [
      {
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
      },
    ],
  },
  'GET /api/openapi.json': {},
};
