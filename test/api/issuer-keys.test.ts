import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { put, remove } from '../../lib/table/write.ts';
import { issuerKeysKey } from '../../lib/tokens/issuer-keys.ts';
import type { User } from '../../lib/users/user.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { FETCHER, type Gatehouse } from '../support/instance/launch.ts';
import { es256, makeSigningKeyPair } from '../support/instance/mint.ts';
import {
  issuerAt,
  jwt,
  logInForm,
  makeProviderKey,
  newCodeVerifier,
  nonceOf,
  type Provider,
} from '../support/instance/provider.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * The keys of two identity providers, of which one is often broken, in an environment that requires
 * a second factor of administrators. Whatever the provider does, log-ins with passwords go on.
 */

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

type Respond = (response: ServerResponse) => void;
/** How the first provider responds to a request for its keys. */
let respond: Respond;
const json =
  (document: unknown): Respond =>
  (response) =>
    response.end(typeof document === 'string' ? document : JSON.stringify(document));
const server = createServer((request, response) => {
  if (request.url === '/other/keys') json({ keys: [otherKey.jwk] })(response);
  else if (request.url === '/elsewhere') json({ keys: [second.published] })(response);
  else respond(response);
});

const [first, second] = [makeProviderKey('first'), makeProviderKey('second')];
const otherKey = makeSigningKeyPair('first');

let gatehouse: Gatehouse;
let setup: Setup;
/** Creates accounts for nobody, and signs with RS256. */
let provider: Provider['issuer'];
/** Signs with ES256, and requires a context of authentication and a second factor. */
let other: Provider['issuer'];

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = `http://127.0.0.1:${port}`;
  provider = issuerAt(`${host}/company`, { roles: undefined, creates: 'nobody' });
  other = issuerAt(`${host}/other`, {
    clientId: 'other',
    algorithms: ['ES256'],
    creates: 'nobody',
    secondFactor: 'always',
    requiredAcr: ['gold', 'silver'],
  });
  const changes = {
    issuers: [provider, other],
    secondFactor: { requiredFor: ['ROLE_ADMIN' as const], from: '2026-01-15' },
  };
  respond = json({ keys: [first.published] });
  gatehouse = await startGatehouse({ assembly: assemblyWith('dev', changes) });
  setup = await openSetup(gatehouse);
});
afterAll(async () => {
  await gatehouse.stop();
  server.closeAllConnections();
  server.close();
});

const fetchKeys = () => gatehouse.cloud.invoke(FETCHER, {});
const storedKeys = () => gatehouse.table.get(issuerKeysKey(provider.issuer));
const store = (keys: readonly object[], ageMs: number) =>
  commit(gatehouse.table, [
    put(issuerKeysKey(provider.issuer), { keys, fetchedAt: Date.now() - ageMs }),
  ]);
const forget = () => commit(gatehouse.table, [remove(issuerKeysKey(provider.issuer))]);

beforeEach(async () => {
  respond = json({ keys: [first.published] });
  await store([first.published], 0);
});

/** An account that is linked with both providers by its own subject. */
async function person(authorities: User['authorities'] = ['ROLE_USER']) {
  const subject = newCodeVerifier();
  const identities = [provider, other].map(({ issuer }) => ({ issuer, subject }));
  return { subject, ...(await setup.account({ authorities, identities })) };
}
const exchange = (body: object) => gatehouse.call('POST', '/api/oauth2/token', { body });
const logIn = (subject: string, { key }: Pick<Provider, 'key'> = first, claims: object = {}) =>
  exchange(logInForm({ issuer: provider, key }, { sub: subject, ...claims }));
/** By a log-in at the other provider, which states these claims. */
function logInThere(subject: string, claims: object = {}) {
  const codeVerifier = newCodeVerifier();
  const iat = Math.floor(Date.now() / 1000);
  const usual = { iss: other.issuer, aud: other.clientId, sub: subject, iat, exp: iat + 60 };
  const payload = { ...usual, nonce: nonceOf(codeVerifier), acr: 'gold', ...claims };
  const assertion = jwt({ alg: 'ES256', kid: otherKey.jwk.kid }, payload, (input) =>
    Buffer.from(es256(String(input), otherKey.privateKey), 'base64url'),
  );
  const form = logInForm({ issuer: provider, key: first.key }, {});
  return exchange({ ...form, assertion, code_verifier: codeVerifier });
}
/** Of a session with the second factor that administrators need here. */
async function adminToken(): Promise<string> {
  const { subject } = await person(['ROLE_ADMIN']);
  return (await logInThere(subject, { groups: ['admins'] })).body.access_token;
}
const REFUSED = { status: 400, body: { message: 'error.invalidgrant' } };

const oct = { kty: 'oct', k: 'c2VjcmV0', kid: 'first' };
const encryption = { ...first.published, use: 'enc' };
const weak = makeProviderKey('weak', 1024).published;
const { kid: _, ...nameless } = first.published;

/** With the code of the failure in the log. */
const BROKEN: [string, Respond, code?: string][] = [
  ['ends the connection', (response) => response.destroy(), 'UND_ERR_SOCKET'],
  [
    'fails',
    (response) => response.writeHead(500).end(JSON.stringify({ keys: [second.published] })),
    'HTTP_500',
  ],
  ['redirects', (response) => response.writeHead(302, { Location: '/elsewhere' }).end()],
  ['sends too much', json({ keys: [second.published], padding: 'x'.repeat(65_536) }), 'TOO_LARGE'],
  ['sends no JSON', json('<html></html>')],
  ['sends half of the JSON', json('{"keys":[')],
  ['sends no object', json([second.published])],
  ['sends no keys', json({})],
  ['sends an object for the keys', json({ keys: second.published })],
  ['sends an empty list of keys', json({ keys: [] }), 'NO_KEY'],
  ['sends keys for encryption only', json({ keys: [encryption] })],
  ['sends weak keys only', json({ keys: [weak] })],
  ['sends symmetric keys only', json({ keys: [oct] })],
  ['sends keys without a name', json({ keys: [nameless] })],
  [
    'sends keys that are none',
    json({ keys: [{ kid: 'a', kty: 'RSA', n: '!', e: '' }, { kid: 'a', kty: 'RSA' }, null, 1] }),
  ],
  [
    'stops in the middle for more than five seconds',
    (response) => response.writeHead(200).write('{"keys":['),
  ],
];

it.each(BROKEN)('a provider that %s changes no keys', async (_, broken, code) => {
  const { subject } = await person();
  respond = broken;
  const before = gatehouse.lines.length;

  await fetchKeys();

  const logged = () => gatehouse.lines.slice(before).join('');
  await expect.poll(logged).toContain('keysNotFetched');
  if (code) expect(logged()).toContain(`"code":"${code}"`);
  expect((await storedKeys())?.keys).toEqual([first.published]);
  expect((await logIn(subject)).status).toBe(200);
});

it.each([
  [HOUR_MS - MINUTE_MS, false],
  [HOUR_MS + 1000, true],
])('a fetch that fails %d ms after the last one raises an alarm: %s', async (ageMs, isAlarming) => {
  await store([first.published], ageMs);
  respond = (response) => response.destroy();
  const before = gatehouse.lines.length;

  const fetched = await fetchKeys().then(() => 'silent', String);

  expect(fetched).toContain(isAlarming ? 'missing' : 'silent');
  const logged = () =>
    gatehouse.lines.slice(before).filter((line) => line.includes('keysNotFetched'));
  await expect.poll(logged).not.toEqual([]);
  const [line = ''] = logged();
  const { missingKeys, _aws } = JSON.parse(line);
  const alarm = [1, [{ Name: 'missingKeys', Unit: 'Count' }]];
  expect([missingKeys, _aws?.CloudWatchMetrics[0].Metrics]).toEqual(
    isAlarming ? alarm : [undefined, undefined],
  );
});

describe('without keys that can be used', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['none are stored', forget],
    ['they are older than a day', () => store([first.published], 24 * HOUR_MS + 1000)],
  ])('because %s, only log-ins with that provider fail', async (_, arrange) => {
    const { user, token, subject } = await person();
    respond = (response) => response.destroy();
    await arrange();

    const alarmed = await fetchKeys().then(() => 'silent', String);
    const credentials = { username: user.login, password: 'pass' };
    const byPassword = await gatehouse.call('POST', '/api/authenticate', { body: credentials });

    expect(alarmed).toContain('missing');
    const refused = await logIn(subject);
    expect(refused).toMatchObject(REFUSED);
    expect((await gatehouse.lineOf(refused)).reason).toBe('no-keys');
    expect((await logInThere(subject)).status).toBe(200);
    expect(byPassword.status).toBe(200);
    expect((await gatehouse.call('GET', '/api/account', { token })).status).toBe(200);
  });
});

it('keys of almost a day are used', async () => {
  const { subject } = await person();
  await store([first.published], 24 * HOUR_MS - MINUTE_MS);

  expect((await logIn(subject)).status).toBe(200);
});

it('a provider can replace its keys: a new one counts at once, a former one no more', async () => {
  const { subject } = await person();

  const early = await logIn(subject, second);
  respond = json({ keys: [first.published, second.published] });
  await fetchKeys();
  const both = [await logIn(subject), await logIn(subject, second)];
  respond = json({ keys: [second.published] });
  await fetchKeys();

  expect(early).toMatchObject(REFUSED);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(await logIn(subject)).toMatchObject(REFUSED);
  expect((await logIn(subject, second)).status).toBe(200);
});

it('only usable ones of 40 keys are stored, and only what verifies signatures', async () => {
  const full = { ...second.key, use: 'sig', alg: 'RS256', x5t: 'x', key_ops: ['verify'] };
  const others = Array(35).fill(oct);
  const keys = [oct, encryption, weak, nameless, full, ...others, first.published];
  respond = json(JSON.stringify({ keys }).padEnd(65_536));

  await fetchKeys();

  expect((await storedKeys())?.keys).toEqual([{ ...second.published, alg: 'RS256' }]);
});

it.each([
  [9 * MINUTE_MS, false],
  [11 * MINUTE_MS, true],
])('the same keys, stored %d ms ago, are stored again: %s', async (ageMs, isStored) => {
  await store([first.published], ageMs);
  const before = (await storedKeys())?.fetchedAt as number;

  await fetchKeys();

  expect(((await storedKeys())?.fetchedAt as number) > before).toBe(isStored);
});

describe('each provider has its own rules', () => {
  it.each([
    ['gold', 200],
    ['silver', 200],
    ['bronze', 400],
    [undefined, 400],
    [['gold'], 400],
    ['', 400],
  ])('of the context of authentication: %j is answered with %d', async (acr, status) => {
    const { subject } = await person();

    const received = await logInThere(subject, { acr });

    expect(received.status).toBe(status);
    expect((await gatehouse.lineOf(received)).reason).toBe(status === 200 ? undefined : 'acr');
  });

  it('of roles and accounts', async () => {
    const { subject, user } = await person(['ROLE_ANALYST']);
    const accountAfter = async ({ body }: Awaited<ReturnType<typeof logIn>>) =>
      (await gatehouse.call('GET', '/api/account', { token: body.access_token })).body;

    const here = await accountAfter(await logIn(subject, first, { groups: ['users'] }));
    const there = await accountAfter(await logInThere(subject, { groups: ['users'] }));
    const stranger = { preferred_username: 'stranger', groups: ['users'] };
    const created = await logInThere('stranger', stranger);
    const token = await adminToken();
    const previews = await Promise.all(
      [provider, other].map(async ({ issuer }) => {
        const body = { issuer, claims: { sub: 'stranger', ...stranger } };
        return (await gatehouse.call('POST', '/api/issuers/preview', { token, body })).body;
      }),
    );

    expect(here).toMatchObject({ login: user.login, authorities: ['ROLE_ANALYST'] });
    expect(there).toMatchObject({ login: user.login, authorities: ['ROLE_USER'] });
    expect(created).toMatchObject({ status: 400, body: { message: 'error.unknownidentity' } });
    expect(previews).toMatchObject([
      { roles: null, created: false },
      { roles: ['ROLE_USER'], created: false },
    ]);
    expect(await gatehouse.mailsTo(user.email)).toEqual([]);
  });

  it('and its own identity of a user, which is linked and unlinked alone', async () => {
    const { user, subject } = await person();
    const [here, there] = [provider, other].map(({ issuer }) => ({ issuer, subject }));
    const token = await adminToken();
    const path = `/api/users/${user.login}/identities`;
    const change = async (at: string, body: object | undefined) => {
      await gatehouse.call('POST', at, { token, body });
      return (await gatehouse.call('GET', `/api/users/${user.login}`, { token })).body.identities;
    };

    expect(await change(`${path}/delete`, { issuer: other.issuer })).toEqual([here]);
    expect(await change(path, there)).toEqual([here, there]);
    expect(await change(`${path}/delete`, { issuer: provider.issuer })).toEqual([there]);
  });

  it('and its own keys and audience, also where a key of both has the same name', async () => {
    const { subject } = await person();
    const { issuer: iss, clientId: aud } = other;

    const received = [
      await logIn(subject, first, { iss, acr: 'gold' }),
      await logIn(subject, first, { iss, aud, acr: 'gold' }),
      await logInThere(subject, { iss: provider.issuer }),
      await logInThere(subject, { iss: provider.issuer, aud: provider.clientId }),
      await logInThere(subject, { aud: provider.clientId }),
    ];

    for (const each of received) expect(each).toMatchObject(REFUSED);
  });
});
