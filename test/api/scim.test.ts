import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorResponse } from '../../infra/local/calls/aws-call.ts';
import type { User } from '../../lib/users/user.ts';
import { useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { itemsOf, setReads } from '../support/instance/items.ts';
import type { Sent } from '../support/instance/launch.ts';
import { useUsers } from '../support/instance/users.ts';

/*
 * What Entra ID and Okta send, as their documentation shows it, and what they get. The scopes of
 * the rows are in unauthorized.test.ts, the forms of bodies in wire.test.ts.
 */

let transactions: string[] = [];
/** Fails the calls of functions whose input contains it. */
let fails: string | undefined;
const gatehouse = await useGatehouse({
  async intercept({ functionName, operation, input }, forward) {
    const text = JSON.stringify(input);
    if (functionName?.includes(' /scim/') && operation === 'TransactWriteItems')
      transactions.push(text);
    return functionName && fails !== undefined && text.includes(fails)
      ? errorResponse('InternalServerError', 'No.', 500)
      : forward();
  },
});
const { table } = gatehouse;
const setup = useSetup(gatehouse);
const users = useUsers(gatehouse);
/** Of admin, who must be the only administrator when a test ends. */
let token: string;
let series: string;
beforeAll(async () => {
  ({ token, series } = await setup.apiToken({ id: 1 }, ['scim']));
});
beforeEach(() => {
  transactions = [];
  fails = undefined;
});

const SCIM = 'application/scim+json';
const PATCH_OP = { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'] };
const call = (method: string, path: string, sent: Sent = {}) => {
  const headers: Sent['headers'] = sent.body === undefined ? {} : { 'Content-Type': SCIM };
  return gatehouse.call(method, path, {
    token,
    ...sent,
    headers: { ...headers, ...sent.headers },
  });
};
const find = (query: Record<string, string>) =>
  call('GET', `/scim/v2/Users?${String(new URLSearchParams(query)).replaceAll('+', '%20')}`);
const patch = ({ id }: { id: number }, body: unknown, sent: Sent = {}) =>
  call('PATCH', `/scim/v2/Users/${id}`, { body, ...sent });
const setting = (active: unknown) => ({
  ...PATCH_OP,
  Operations: [{ op: 'replace', path: 'active', value: active }],
});
const person = async (fields: Partial<User> = {}) =>
  (await setup.account({ authorities: ['ROLE_USER'], ...fields })).user;
const noticesTo = async (address: string) =>
  (await gatehouse.mailsTo(address)).filter(({ subject }) => /not deactivated/.test(subject));
const isActive = async ({ id }: User) => (await users.stored(id))?.activated;
/** Besides counts of requests. */
const stored = async () =>
  [...(await itemsOf(gatehouse.cloud))].filter(([name]) => !/^(READS|TOKEN-USE)#/.test(name));
const errorWith = (status: number, more: object = {}) => ({
  status,
  headers: { 'content-type': `${SCIM}; charset=utf-8` },
  body: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    detail: expect.any(String),
    ...more,
  },
});

describe('a search', () => {
  const LIST = { schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'] };
  const NOBODY = { ...LIST, totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] };

  it('passes the connection tests of Entra and Okta', async () => {
    const entra = await find({ filter: 'userName eq "8ac2bfa4-6a3b-4f0c-9b4d-0b9f3c6e7a51"' });
    const okta = await find({ filter: 'userName eq "no@okta.local"', startIndex: '1', count: '9' });
    const page = await call('GET', '/scim/v2/Users?startIndex=1&count=2');
    const config = await call('GET', '/scim/v2/ServiceProviderConfig');

    for (const response of [entra, okta])
      expect(response).toMatchObject({ status: 200, body: NOBODY });
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe(`${SCIM}; charset=utf-8`);
    expect(page.body).toMatchObject({ ...LIST, startIndex: 1, itemsPerPage: 2 });
    expect(config.body).toMatchObject({ patch: { supported: true }, bulk: { supported: false } });
  });

  it('pages through all users, deactivated ones included, in the order of ids', async () => {
    await person({ activated: false });
    const total = await users.total();
    const idsOf = async (startIndex: number, count: number | string) => {
      const { body } = await call('GET', `/scim/v2/Users?startIndex=${startIndex}&count=${count}`);
      expect([body.totalResults, body.startIndex]).toEqual([total, startIndex]);
      return body.Resources.map(({ id }: { id: string }) => id);
    };

    const pages = [await idsOf(1, 2), await idsOf(3, 2), await idsOf(1, 0), await idsOf(1001, 100)];

    const all = (await call('GET', '/scim/v2/Users')).body.Resources.map(
      ({ id }: { id: string }) => id,
    );
    expect(pages).toEqual([all.slice(0, 2), all.slice(2, 4), [], []]);
    expect(all).toHaveLength(total);
    expect((await call('GET', '/scim/v2/Users?startIndex=0&count=-1')).body.itemsPerPage).toBe(0);
    const none = await call('GET', '/scim/v2/Users?startIndex=5&count=0');
    expect(none).toMatchObject({ status: 200, body: { totalResults: total, Resources: [] } });
    for (const text of ['', 'x1', '1x', '1.5']) expect((await idsOf(1, text)).length).toBe(total);
  });

  it('finds a user by the login, or else by the address in any spelling', async () => {
    const ada = await person({ login: 'ada"\\', email: 'Ada@example.com', activated: false });
    const eve = await person({ login: 'eve', email: 'ada@example.org' });
    const bob = await person({ login: 'ada@example.org' });
    const max = await person({ email: `${'x'.repeat(64)}@${`${'a'.repeat(61)}.`.repeat(3)}com` });
    const found = async (filter: string) =>
      (await find({ filter })).body.Resources.map(({ id }: { id: string }) => Number(id));

    expect(await found('userName eq "ada@EXAMPLE.com"')).toEqual([ada.id]);
    expect(await found('USERNAME EQ "eve"')).toEqual([eve.id]);
    expect(await found('userName eq "\\u0065ve"')).toEqual([eve.id]);
    expect(
      await found('urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ada@example.org"'),
    ).toEqual([bob.id]);
    expect(await found('userName eq "Eve"')).toEqual([]);
    expect(await found(`userName eq "${max.email}"`)).toEqual([max.id]);
    // The second has more bytes as a key than as it is typed.
    for (const name of [`${'x'.repeat(3000)}@example.com`, '\ufdfa'.repeat(62)])
      expect(await found(`userName eq "${name}"`)).toEqual([]);
    const eveOnly = { filter: 'userName eq "eve"' };
    const beyond = await find({ ...eveOnly, startIndex: '2' });
    const none = await find({ ...eveOnly, count: '0' });
    for (const { body } of [beyond, none])
      expect(body).toMatchObject({ totalResults: 1, itemsPerPage: 0, Resources: [] });
  });

  it.each([
    '',
    'userName',
    'userName eq eve',
    'userName eq "eve',
    'userName eq "\\x"',
    'userName co "eve"',
    'userName eq "eve" and active eq true',
    'emails.value eq "eve@example.com"',
    'userName eq "\\ud800"',
  ])('by %j is refused as a filter', async (filter) => {
    const detail = 'The only filter is userName eq "…"';
    expect(await find({ filter })).toMatchObject(
      errorWith(400, { scimType: 'invalidFilter', detail }),
    );
  });
});

describe('a user', () => {
  it('is returned with the version that is the ETag', async () => {
    const user = await person({ firstName: 'Ada', lastName: 'Lovelace' });

    const { status, headers, body } = await call('GET', `/scim/v2/Users/${user.id}`);

    expect([status, headers.etag]).toEqual([200, body.meta.version]);
    expect(body).toMatchObject({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      id: String(user.id),
      userName: user.login,
      name: { givenName: 'Ada', familyName: 'Lovelace' },
      active: true,
      emails: [{ value: user.email, type: 'work', primary: true }],
      meta: { resourceType: 'User', location: `/scim/v2/Users/${user.id}` },
    });
    const known = { headers: { 'If-None-Match': body.meta.version } };
    expect((await call('GET', `/scim/v2/Users/${user.id}`, known)).status).toBe(304);
  });

  it.each(['999999', 'ada', '0'])('with the id %s is 404 for each method', async (id) => {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const sent = method === 'PATCH' ? { body: setting(false) } : {};
      expect(await call(method, `/scim/v2/Users/${id}`, sent)).toMatchObject(errorWith(404));
    }
  });
});

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const NAME = { op: 'Replace', path: 'name.givenName', value: 'Other' };
const GONE = { op: 'Remove', path: 'emails[type eq "other"]' };
const OFF = { op: 'Replace', path: 'active', value: 'False' };
const ON = { op: 'add', value: { active: true } };
const operations = (...Operations: unknown[]) => ({ ...PATCH_OP, Operations });

describe('a PATCH', () => {
  it.each<[string, (active: boolean) => object[]]>([
    ['Entra', (active) => [{ ...OFF, value: active ? 'True' : 'False' }]],
    ['Entra with aadOptscim062020', (value) => [{ op: 'replace', path: 'active', value }]],
    ['Entra, to restore', (value) => [{ op: 'Add', path: 'active', value }]],
    ['Entra, with more', (value) => [NAME, { ...OFF, path: 'ACTIVE', value: `${value}` }, GONE]],
    ['Okta', (active) => [{ op: 'replace', value: { active } }]],
    ['Okta, with more', (Active) => [{ op: 'replace', path: null, value: { Active, x: 1 } }]],
    ['others, with a schema', (value) => [{ op: 'REPLACE', path: `${USER}:active`, value }]],
    ['others, several times', (active) => [OFF, ON, { op: 'add', value: { active } }]],
  ])('of %s deactivates and activates', async (_, sent) => {
    const user = await person({ firstName: 'Ada' });

    const off = await patch(user, operations(...sent(false)));
    const on = await patch(user, operations(...sent(true)));

    const shown = { userName: user.login, name: { givenName: 'Ada' } };
    expect(off).toMatchObject({ status: 200, body: { ...shown, active: false } });
    expect(on).toMatchObject({ status: 200, body: { ...shown, active: true } });
    expect(on.headers.etag).toBe(on.body.meta.version);
    expect(await isActive(user)).toBe(true);
  });

  it.each<[string, object, boolean]>([
    ['repeats what is so', setting('FALSE'), false],
    ['repeats what is so', setting(true), true],
    ['is about other attributes', operations(NAME, GONE), true],
    ['is about a part of another', operations({ ...ON, value: { name: { active: false } } }), true],
  ])('that %s writes nothing', async (_, body, activated) => {
    const user = await person({ activated });
    const { headers } = await call('GET', `/scim/v2/Users/${user.id}`);
    const before = await stored();

    const response = await patch(user, body);

    expect(response).toMatchObject({ status: 200, body: { active: activated } });
    expect(response.headers.etag).toBe(headers.etag);
    expect([transactions, await stored()]).toEqual([[], before]);
  });

  it.each<[string, unknown]>([
    ['invalidValue', PATCH_OP],
    ['invalidValue', operations()],
    ['invalidValue', operations({ ...OFF, op: 'set' }, { ...OFF, op: 'set' })],
    ['invalidValue', operations({ op: 'replace', path: 'active' })],
    ['invalidValue', operations({ op: 'remove', path: 'active', value: false })],
    ['invalidValue', operations({ op: 'Remove', value: { active: false } })],
    ['invalidValue', operations(OFF, { ...OFF, value: 'no' })],
    ['invalidValue', setting(null)],
    ['invalidValue', setting(0)],
    ['invalidValue', setting([{ value: 'False' }])],
    ['invalidSyntax', '{"Operations":'],
  ])('is refused as %s: %j', async (scimType, body) => {
    const user = await person();

    const response = await patch(user, body);

    const fields = /^Method argument not valid: \S+ \(\w+\)(, \S+ \(\w+\))*$/;
    const detail = expect.stringMatching(scimType === 'invalidValue' ? fields : /./);
    expect(response).toMatchObject(errorWith(400, { scimType, detail }));
    expect(await isActive(user)).toBe(true);
  });

  it('of application/json is accepted, and any other type refused with 415', async () => {
    const user = await person();
    const as = (type: string) => patch(user, setting(false), { headers: { 'Content-Type': type } });

    expect(await as('application/xml')).toMatchObject(
      errorWith(415, { detail: expect.stringContaining(SCIM) }),
    );
    expect((await as('application/json')).status).toBe(200);
  });

  it('of another version is refused with 412', async () => {
    const user = await person();
    const { headers } = await call('GET', `/scim/v2/Users/${user.id}`);
    const unchanged = { headers: { 'If-Match': headers.etag as string } };

    expect((await patch(user, setting(false), unchanged)).status).toBe(200);
    expect(await patch(user, setting(true), unchanged)).toMatchObject(errorWith(412));
  });
});

it('a deactivation ends sessions for good, in one audited transaction', async () => {
  const { user, token: session } = await setup.account({ authorities: ['ROLE_USER'] });
  const use = async () =>
    (await gatehouse.call('GET', '/api/users?size=1', { token: session })).status;
  const before = await use();

  await patch(user, setting(false));

  expect([before, transactions.length]).toEqual([200, 1]);
  await patch(user, setting(true));
  // Not used while the user is deactivated: a function remembers a token that it has refused.
  expect(await use()).toBe(401);
  const path = `/api/audits?target=user/${user.id}&action=user.updated`;
  const admin = await gatehouse.adminToken();
  const { body: entries } = await gatehouse.call('GET', path, { token: admin });
  const about = { actor: 'admin', session: series, action: 'user.updated' };
  const changes = (to: boolean) => [{ field: 'activated', from: !to, to }];
  expect(entries).toMatchObject([
    { ...about, changes: changes(true) },
    { ...about, changes: changes(false) },
  ]);
});

it('a DELETE deactivates, also again', async () => {
  const user = await person();

  const deleted = await call('DELETE', `/scim/v2/Users/${user.id}`);
  const again = await call('DELETE', `/scim/v2/Users/${user.id}`);

  for (const response of [deleted, again])
    expect(response).toMatchObject({ status: 204, text: '' });
  expect(transactions).toHaveLength(1);
  const { body } = await call('GET', `/scim/v2/Users/${user.id}`);
  expect(body.active).toBe(false);
  expect(body).not.toHaveProperty('name');
});

it('an administrator is deactivated with a token, and activated in a session only', async () => {
  const { user } = await setup.account();

  const off = await patch(user, setting(false));
  const on = await patch(user, setting(true));

  expect(off.body.active).toBe(false);
  expect(on).toMatchObject(errorWith(403, { detail: expect.stringMatching(/^An API token/) }));
  expect(on.headers['www-authenticate']).toBe('Bearer error="insufficient_scope"');
  expect(await isActive(user)).toBe(false);
  expect(await noticesTo(user.email)).toEqual([]);
  const session = { token: await gatehouse.adminToken() };
  expect((await patch(user, setting(true), session)).body.active).toBe(true);
  await patch(user, setting(false));
});

describe('the last administrator', () => {
  const admin = { id: 1 };

  it('stays, is 409, and is told once an hour', async () => {
    const before = await users.stored(1);

    const responses = [
      await patch(admin, setting('False')),
      await call('DELETE', '/scim/v2/Users/1'),
      await patch(admin, setting(false)),
    ];

    for (const response of responses)
      expect(response).toMatchObject(
        errorWith(409, { detail: expect.stringContaining('the last activated administrator') }),
      );
    expect(await users.stored(1)).toEqual(before);
    const [notice, ...others] = await noticesTo('admin@example.com');
    expect(notice?.text).toContain('Dear admin,');
    expect(others).toEqual([]);
  });

  it('is 409 also if the notice cannot be written', async () => {
    fails = 'deactivationRefused';

    const response = await patch(admin, setting(false));

    expect(response).toMatchObject(errorWith(409));
    expect(gatehouse.lines.join()).toContain('noticeNotWritten');
  });
});

describe('a caller', () => {
  it('without any budget is asked to come back later', async () => {
    await setReads(table, 1, 5000);

    const response = await call('GET', '/scim/v2/Users');

    await setReads(table, 1, 0);
    expect(response).toMatchObject(errorWith(429));
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('is asked to repeat what an outage has kept from the table', async () => {
    const user = await person();
    fails = '"activated"';

    const response = await patch(user, setting(false));

    expect(response).toMatchObject(errorWith(503));
    expect(response.headers['retry-after']).toBe('1');
    expect(await noticesTo(user.email)).toEqual([]);
  });
});
