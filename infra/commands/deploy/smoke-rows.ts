import { randomBytes } from 'node:crypto';
import { EDGE_HEADERS } from '../../../lib/http/edge.ts';
import { routes } from '../../../routes.ts';
import type { Checks, Known, Row } from './smoke-checks.ts';

/*
 * What a deployment can break: each function must start, and have the permissions for its example,
 * which reads and writes what it may; nothing in front of the service may rename, drop or answer
 * anything itself. A mark makes the user and the integration of the rows recognizable, so that the
 * next run can remove what an interrupted one has left.
 */

const MARK = 'Created by npm run admin -- smoke';
const NAME = 'gatehouse-smoke';
const RENAMED = 'gatehouse-smoke-renamed';
const USER = { lastName: MARK, authorities: ['ROLE_USER'] };
const INTEGRATION = { name: NAME, description: MARK };

/** Of 64 characters, which is the highest minimum of passwords. */
const random = (): string => randomBytes(48).toString('base64url');
const [PASSWORD, NEW_PASSWORD] = [random(), random()];

/** The mailbox simulator of SES accepts these, even in the sandbox, and delivers nothing. */
const simulated = (name: string): string => `success+${name}@simulator.amazonses.com`;

/** Values for the placeholders of examples. */
export function known(email = simulated(NAME)): Known {
  const [ownEmail, foreignEmail] = [simulated(RENAMED), simulated(RENAMED)];
  const user = { login: NAME, shownLogin: NAME, newEmail: email, shownEmail: email };
  return { ...user, ownEmail, foreignEmail, password: PASSWORD };
}

export const FRONT: readonly Row[] = [
  'HEAD /api/health',
  ['GET /api/account', { status: 401, expect: { 'WWW-Authenticate': 'Bearer' } }],
];

/** The page of the console and its files, as a browser loads them. */
export async function consoleFiles(checks: Checks): Promise<Row[]> {
  const { status, text, body } = await checks.send('GET /console');
  // API Gateway itself responds in an environment without the console.
  if (status === 404 && body?.message === 'Not Found') return [];
  const files = [...text.matchAll(/="(\/console\/assets\/[^"]+)"/g)].map(([, file]) => file);
  return ['/console', ...files].map((path) => `GET ${path}`);
}

/** Only the edge may use the API, whatever a request states about itself. */
export function pastEdge(url: string): Row[] {
  const headers = { [EDGE_HEADERS.clientAddress]: '203.0.113.1', [EDGE_HEADERS.secret]: 'guessed' };
  const sent = { url, status: 403, headers };
  return ['GET /api/health', 'POST /api/authenticate'].map((route) => [route, sent]);
}

/** What a browser requires before a page of this origin may send changes and read responses. */
export function forPagesOf(origin: string): Row[] {
  const headers = { Origin: origin, 'Access-Control-Request-Method': 'PUT' };
  const expect = { 'access-control-allow-origin': origin };
  return [
    ['OPTIONS /api/users', { status: 204, expect, headers }],
    ['GET /api/health', { expect, headers }],
  ];
}

/** The login of an administrator: without the role, most other rows would fail. */
export const logIn = (username: string, password: string, code: string | undefined): Row[] => [
  ['POST /api/authenticate', { body: { username, password, code } }],
  'GET /api/users/authorities',
];

/** The reads that name no entity. */
export const reads = (isLoggedIn: boolean): Row[] =>
  routes.flatMap(({ route, contract: { access } }) =>
    /^GET (?!\/console)[^{]*$/.test(route) && (isLoggedIn || access === 'public') ? [route] : [],
  );

/** Deletes marked users and integrations, and nothing without the mark. */
export async function leftovers(checks: Checks): Promise<Row[]> {
  const rows: Row[] = [];
  for (const login of [NAME, RENAMED]) {
    const { body } = await checks.send(`GET /api/users/${login}`);
    if (body?.lastName === MARK) rows.push(`DELETE /api/users/${login}`);
  }
  // Leftovers are among the newest; the maximum of a page.
  const { body } = await checks.send('GET /api/utm-integrations?sort=id,desc&size=2000');
  for (const { id, name, description } of Array.isArray(body) ? body : [])
    if (name === NAME && description === MARK) rows.push(`DELETE /api/utm-integrations/${id}`);
  return rows;
}

const as = (password: string): Row => [
  'POST /api/authenticate',
  ({ code }) => ({ body: { username: NAME, password, code } }),
];
const keyIn = (link: string) => /[\w-]*$/.exec(link)?.[0];
const ON = ['POST /api/account/second-factor', 'POST /api/account/second-factor/confirm'];

/** Uses the marked user's account. The link of an invitation sets the password. */
export const users = (askForLink: (() => Promise<string>) | undefined): readonly Row[] => [
  ['POST /api/users', { body: askForLink ? USER : { ...USER, password: PASSWORD } }],
  'GET /api/users/{login}',
  [
    'POST /api/account/reset-password/finish',
    async () =>
      askForLink
        ? { body: { key: keyIn(await askForLink()), newPassword: PASSWORD } }
        : { status: 400 },
  ],
  as(PASSWORD),
  // First, because the roles of the user may require it.
  ...ON,
  'POST /api/account/second-factor/disable',
  ...ON,
  'POST /api/account/second-factor/recovery-codes',
  ['POST /api/account', { body: { lastName: MARK } }],
  'POST /api/account/reset-password/init',
  ['POST /api/account/confirm-email', { status: 400 }],
  ['POST /api/account/change-password', { body: { newPassword: NEW_PASSWORD } }],
  as(NEW_PASSWORD),
  'GET /api/account/sessions',
  'POST /api/account/sessions/{series}/end',
  'POST /api/account/end-other-sessions',
  'GET /api/users/{login}/sessions',
  'POST /api/users/{login}/sessions/{series}/end',
  'POST /api/users/{login}/end-sessions',
  'POST /api/users/{login}/second-factor/remove',
  ['PUT /api/users', { status: 412, body: USER, headers: { 'If-Match': '"old"' } }],
  ['PUT /api/users', { body: { ...USER, login: RENAMED } }],
  `DELETE /api/users/${RENAMED}`,
];

/** Uses the marked integration, its parameters and its module. */
export const INTEGRATIONS: readonly Row[] = [
  ['POST /api/utm-integrations', { body: INTEGRATION }],
  'GET /api/utm-integrations/{id}',
  ['PUT /api/utm-integrations', { body: INTEGRATION }],
  'POST /api/utm-integration-confs',
  'PUT /api/utm-integration-confs',
  'GET /api/utm-integration-confs/{id}',
  'GET /api/utm-integration-confs?integrationId.equals={integrationId}',
  'DELETE /api/utm-integration-confs/{id}',
  'POST /api/utm-integrations/{id}/module/restarted',
  'POST /api/utm-integrations/{id}/credentials',
  'POST /api/oauth2/token',
  'GET /api/utm-integrations/{id}/module',
  [
    'GET /api/utm-integrations/{id}/module',
    ({ etag }) => ({ status: 304, headers: { 'If-None-Match': etag } }),
  ],
  'POST /api/utm-integrations/{id}/module/report',
  'GET /api/utm-integrations/{id}/credentials',
  'POST /api/utm-integrations/{id}/credentials/{clientId}/delete',
  // The integration is deleted with this parameter.
  'POST /api/utm-integration-confs',
  'DELETE /api/utm-integrations/{id}',
];
