import { randomBytes } from 'node:crypto';
import { EDGE_HEADERS } from '../../../lib/http/request.ts';
import { routes } from '../../../routes.ts';
import { EXAMPLES, PLACEHOLDERS } from '../../api-document/examples.ts';
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
  const user = { login: NAME, shownLogin: NAME, newEmail: email, shownEmail: email, code: '' };
  return { ...user, ownEmail, foreignEmail, password: PASSWORD };
}

export const FRONT: readonly Row[] = [
  'HEAD /api/health',
  ['GET /api/account', { status: 401, expect: { 'WWW-Authenticate': 'Bearer' } }],
  // It may read as much as the longest list, or be refused because a list is longer.
  ['POST /api/overview/count', { status: 401 }],
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

/** The login of the marked user; a later one takes a recovery code. */
const as = (password: string): Row => [
  'POST /api/authenticate',
  { body: { username: NAME, password, code: PLACEHOLDERS.code } },
];
const ON = ['POST /api/account/second-factor', 'POST /api/account/second-factor/confirm'];

/** The example has a time that has passed. */
const TOKEN: Row = ['POST /api/account/tokens', { body: { expires: null } }];

/** Creates the marked user, who gets either an invitation or a password. */
export const user = (isInvited: boolean): readonly Row[] => [
  ['POST /api/users', { body: isInvited ? USER : { ...USER, password: PASSWORD } }],
  'GET /api/users/{login}',
];

/** Uses the marked user's account, whose password the link of an invitation sets. */
export const account = (link: string | undefined): readonly Row[] => [
  [
    'POST /api/account/reset-password/finish',
    link === undefined
      ? { status: 400 }
      : { body: { key: /[\w-]*$/.exec(link)?.[0], newPassword: PASSWORD } },
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
  TOKEN,
  'GET /api/account/tokens',
  'POST /api/account/tokens/{series}/delete',
  TOKEN,
  'GET /api/users/{login}/tokens',
  'POST /api/users/{login}/tokens/{series}/delete',
  // The environment may have no identity provider, and none knows the marked user.
  ['POST /api/account/identities', { status: 400 }],
  ['POST /api/issuers/preview', { status: 400 }],
  ['POST /api/users/{login}/identities', { status: 400 }],
  ['POST /api/users/{login}/identities/delete', { status: 404 }],
  // Files that change nothing.
  ['POST /api/plan', { body: { set: NAME, users: [] } }],
  'POST /api/apply',
  'GET /api/users/{login}/sessions',
  'POST /api/users/{login}/sessions/{series}/end',
  'POST /api/users/{login}/end-sessions',
  'POST /api/users/{login}/second-factor/remove',
  ['POST /api/users/{login}/invite', { status: 400 }],
  'GET /scim/v2/Users/{id}',
  'PATCH /scim/v2/Users/{id}',
  [
    'PATCH /scim/v2/Users/{id}',
    { body: { Operations: [{ op: 'add', path: 'active', value: true }] } },
  ],
  'DELETE /scim/v2/Users/{id}',
  ['PUT /api/users', { status: 412, body: USER, headers: { 'If-Match': '"old"' } }],
  ['PUT /api/users', { body: { ...USER, login: RENAMED } }],
  `DELETE /api/users/${RENAMED}`,
];

const ABOUT_INTEGRATIONS = /integration(?!.*count)|oauth2/;

/** Uses the marked integration: all examples about integrations, in an order that succeeds. */
export const INTEGRATIONS = Object.keys(EXAMPLES).flatMap((route): Row[] => {
  if (!ABOUT_INTEGRATIONS.test(route)) return [];
  if (/^P.* \/api\/utm-integrations$/.test(route)) return [[route, { body: INTEGRATION }]];
  if (route === 'GET /api/utm-integrations/{id}/module') return [route, [route, { status: 304 }]];
  // The integration is deleted with a parameter.
  return route === 'DELETE /api/utm-integrations/{id}'
    ? ['POST /api/utm-integration-confs', route]
    : [route];
});
