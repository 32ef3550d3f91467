import { expect, it } from 'vitest';
import {
  EXAMPLES,
  type Example,
  fillExample,
  PLACEHOLDERS,
} from '../../infra/api-document/examples.ts';
import { authenticator } from '../../infra/commands/deploy/authenticator.ts';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import { commit } from '../../lib/table/change.ts';
import { newConfirmationKey } from '../../lib/users/mailed-keys.ts';
import type { User } from '../../lib/users/user.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import document from '../../openapi.json' with { type: 'json' };
import { type Route, routes } from '../../routes.ts';
import { methodAndPath } from '../support/instance/api-document.ts';
import { useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { decode } from '../support/instance/mint.ts';
import { logInForm, testProvider } from '../support/instance/provider.ts';
import { RELEASE } from '../support/instance/run-variables.ts';

/*
 * All other tests check every response against the document. These send its examples, which show
 * the headers of notifications and the Location of each route.
 */

const gatehouse = await useGatehouse();
const setup = useSetup(gatehouse);

// Another release has the document of its time.
it.skipIf(RELEASE)('is served without a token', async () => {
  const { status, headers, body } = await gatehouse.call('GET', '/api/openapi.json');

  expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=300']);
  expect(body).toEqual(document);
});

it.skipIf(RELEASE)('every example has the response and the headers that it shows', async () => {
  const token = await gatehouse.adminToken();

  // The log-out ends the token of this test.
  const isLast = ([route]: [string, Example]) => Number(route === 'POST /api/logout');
  const examples = Object.entries(EXAMPLES).sort((a, b) => isLast(a) - isLast(b));
  for (const [route, example] of examples) {
    const { status, body, headers, text } = await send(token, route, example);
    const { contract } = routes.find((row) => row.route === route) as Route;
    expect([route, status]).toEqual([route, contract.status ?? 200]);
    expect(specialOf(headers), route).toEqual(specialOf(example.headers ?? {}));
    if (contract.response === undefined) expect(text, route).toBe('');
    else if (example.response !== undefined)
      expect(lasting(body), route).toEqual(lasting(example.response));
  }
});

const SPECIAL = /^(location|etag|x-gatehouseapp-(alert|params)|x-total-count|link|authorization)$/i;
const VARYING =
  /[\da-f]{8}-[\da-f-]{27}|module-[\w-]+$|^"[\w-]{43}"$|(?<=^Bearer ).*|(?<=cursor=)[^&>]+/;

/** The headers that only some responses have, without what differs from run to run. */
const specialOf = (headers: object): object =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => SPECIAL.test(name))
      .map(([name, value]) => [name.toLowerCase(), String(value).replace(VARYING, '*')]),
  );

/** The text of a query, with its `?`. */
const queryOf = (query: Example['query']): string =>
  query ? `?${new URLSearchParams(query)}` : '';

async function send(token: string, route: string, { needs, path, query, body }: Example) {
  if (needs === 'factor') await setup.secondFactor({ id: REAL.userId });
  const values = {
    ...REAL,
    expires: new Date(Date.now() + 86_400_000).toISOString(),
    key: await keyOf(body, needs),
    series: await seriesFor(needs),
    code: await codeFor(needs),
    ...credential,
    ...idToken(needs),
  };
  const [method, pathname] = methodAndPath(route, fillExample(path, values));
  const received = await gatehouse.call(method, pathname + queryOf(query), {
    token: route.endsWith('/module/report') ? moduleToken : token,
    ...(body !== undefined && { body: fillExample(body, values) }),
  });
  if (received.body?.secret) secret = received.body.secret;
  if (received.body?.clientSecret) credential = received.body;
  if (received.body?.access_token) moduleToken = received.body.access_token;
  return received;
}

/** The secret of the caller's requested factor. */
let secret = '';
/** The credential of the module, and its token. */
let credential: { clientId?: string; clientSecret?: string } = {};
let moduleToken = '';

/** A code of the caller's factor. An own one is replaced, so that its code was not used. */
async function codeFor(needs: Example['needs']): Promise<string> {
  if (needs === 'pendingFactor') return authenticator(secret).code();
  if (needs !== 'ownFactor') return '';
  const { secrets } = await setup.secondFactor(await userNamed('admin'));
  return codeOf(secrets.totp, stepAt(Date.now()));
}

const userNamed = async (login: string) => (await findUserByLogin(gatehouse.table, login)) as User;

/** The entities that earlier examples have created, and the caller's own password. */
const REAL = {
  userId: 3,
  integrationId: 1,
  parameterId: 1_000_001,
  login: 'etienne',
  ownEmail: 'ada@example.com',
  foreignEmail: 'etienne@example.com',
  newEmail: 'etienne@example.com',
  password: 'admin',
  issuer: testProvider().issuer.issuer,
};

/** An ID token that names an identity of the caller. */
function idToken(needs: Example['needs']) {
  if (needs !== 'idToken') return {};
  const { assertion, code_verifier: codeVerifier } = logInForm(testProvider(), { sub: 'admin' });
  return { assertion, codeVerifier };
}

/** The key that was mailed, if the body has the placeholder of one. */
async function keyOf(body: unknown, needs: Example['needs']): Promise<string> {
  const { key } = (body ?? {}) as { key?: string };
  if (needs === 'confirmationKey') {
    const admin = await userNamed('admin');
    const { key, write } = newConfirmationKey(admin, 'ada@example.org', Date.now());
    await commit(gatehouse.table, [write]);
    return key;
  }
  return key === PLACEHOLDERS.key ? gatehouse.keyMailedTo('etienne@example.com') : '';
}

/** The series of a new session or API token of the user whom the example needs one of. */
async function seriesFor(needs: Example['needs']): Promise<string> {
  if (needs === 'ownToken' || needs === 'token') {
    const user = await userNamed(needs === 'token' ? 'etienne' : 'admin');
    return (await setup.apiToken(user, ['integrations:read'])).series;
  }
  if (needs !== 'ownSession' && needs !== 'session') return '';
  const token = await (needs === 'session'
    ? gatehouse.logIn('etienne', 'staple in the tin')
    : gatehouse.logIn('admin'));
  return String(decode(token.split('.')[1]).jti);
}

/** A value without what differs from run to run. */
function lasting(value: unknown): unknown {
  const volatile = 'time kid x y token id_token access_token clientId clientSecret lastSeen series'
    .concat(
      ' digest ipAddress source userAgent expires invitedUntil counts days administrators latest countedAt credentialsExpire current secret uri issuer authorizationEndpoint tokenEndpoint created lastModified version',
    )
    .split(' ');
  const isVolatile = (name: string) => name.endsWith('Date') || volatile.includes(name);
  return JSON.parse(JSON.stringify(value), (name, part) => {
    if (isVolatile(name)) return typeof part;
    // Only a clone knows its commit.
    if (name === 'build') return typeof part.version;
    // The second key signs the tokens that the tests mint.
    if (name === 'keys') return part.slice(0, 1);
    if (name === 'recoveryCodes') return typeof part[0];
    if (Array.isArray(part) && part[0]?.series) return part.slice(0, 1);
    return typeof part === 'string' && /^[\da-f]{8}-/.test(part) ? 'uuid' : part;
  });
}
