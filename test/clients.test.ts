import { beforeAll, describe, expect, it } from 'vitest';
import { entityKey } from '../lib/table/keys.ts';
import { useGatehouse } from './support/gatehouse.ts';

const gatehouse = useGatehouse();

const INTEGRATIONS = '/api/utm-integrations';
const PARAMETERS = '/api/utm-integration-confs';
const INTEGRATION = { name: 'Gate logs', shortName: 'gate', integrationType: 'API' };

let token: string;
/** What there is, as it was read, for requests that send it back. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
let there: { user: any; doomed: any; account: any; integration: any; parameter: any };

beforeAll(async () => {
  token = await gatehouse.logIn('admin');
  const post = async (path: string, body: unknown) => (await gatehouse.call('POST', path, { token, body })).body;
  const integration = await post(INTEGRATIONS, INTEGRATION);
  there = {
    user: await gatehouse.makeUser('listed'),
    doomed: await gatehouse.makeUser('doomed'),
    account: (await gatehouse.call('GET', '/api/account', { token })).body,
    integration,
    parameter: await post(PARAMETERS, { confName: 'key', confValue: 'value', integration }),
  };
});

describe('requests of JHipster clients', () => {
  const form = { firstName: 'Ada', lastName: '', activated: true, langKey: 'en', authorities: ['ROLE_USER'] };
  const jhipster8 = {
    id: '',
    createdBy: '',
    createdDate: null,
    lastModifiedBy: '',
    lastModifiedDate: null,
    password: '',
  };
  const created = { status: 201 };
  const ok = { status: 200 };

  // biome-ignore format: a table is read by its columns
  it.each<[string, string, string, () => unknown, object]>([
    ['the user list', 'GET', '/api/users?page=0&size=20&sort=lastModifiedDate,desc', () => undefined, ok],
    ['a form for a new user', 'GET', '/api/users/authorities', () => undefined, ok],
    ['a new user', 'POST', '/api/users', () => ({ ...form, login: 'six', email: 'six@example.com' }), created],
    ['a new user (JHipster 8)', 'POST', '/api/users', () => ({ ...jhipster8, ...form, login: 'eight', email: 'eight@example.com' }), created],
    ['a new user of a test', 'POST', '/api/users', () => ({ login: 'spec', email: 'spec@example.com' }), created],
    ['an edited user', 'PUT', '/api/users', () => ({ ...form, id: there.user.id, login: 'listed', email: 'listed@example.com' }), ok],
    ['a toggled user', 'PUT', '/api/users', () => ({ ...there.user, activated: false }), { ...ok, body: { activated: false } }],
    ['an edited user (JHipster 8)', 'PUT', '/api/users', () => ({ ...jhipster8, ...there.user, password: '' }), ok],
    ['a deleted user', 'DELETE', '/api/users/doomed', () => undefined, { ...ok, text: '' }],
    ['the settings', 'POST', '/api/account', () => ({ ...there.account, firstName: 'Grace', authorities: [], login: 'root' }), { ...ok, text: '' }],
    ['the password', 'POST', '/api/account/change-password', () => ({ currentPassword: 'admin', newPassword: 'admin' }), { ...ok, text: '' }],
    ['the integration list', 'GET', `${INTEGRATIONS}?page=0&size=20&sort=id,asc&cacheBuster=1700000000000`, () => undefined, ok],
    ['a pick list', 'GET', `${INTEGRATIONS}?cacheBuster=1700000000000`, () => undefined, ok],
    ['a new integration', 'POST', INTEGRATIONS, () => ({ active: true, ...INTEGRATION, description: '' }), { ...created, body: { module: null } }],
    ['an edited integration', 'PUT', INTEGRATIONS, () => ({ ...there.integration, module: null, name: 'bleach now for' }), ok],
    ['a new parameter', 'POST', PARAMETERS, () => ({ confName: 'bleach now for', confValue: 'x', confDescription: '', integration: { id: String(there.integration.id) } }),
      { ...created, body: { integration: { name: 'bleach now for' } } }],
    ['an edited parameter', 'PUT', PARAMETERS, () => ({ ...there.parameter, integration: { id: there.integration.id } }),
      { ...ok, body: { integration: { module: { needsRestart: true } } } }],
    ['an edited parameter (JHipster 8)', 'PUT', PARAMETERS, () => ({ ...there.parameter, integration: there.integration }), ok],
    ['a deleted parameter', 'DELETE', `${PARAMETERS}/:parameter`, () => undefined, { ...ok, text: '' }],
    ['a deleted integration', 'DELETE', `${INTEGRATIONS}/:integration`, () => undefined, { ...ok, text: '' }],
  ])('%s: %s %s', async (_, method, path, body, expected) => {
    const headers = { Accept: 'application/json, text/plain, */*', 'Content-Type': 'application/json;charset=UTF-8' };
    const withIds = path.replace(/:(integration|parameter)$/, (_, what: 'integration' | 'parameter') => there[what].id);

    const answer = await gatehouse.call(method, withIds, { token, body: body(), headers });

    expect(answer).toMatchObject(expected);
  });

  it('find the token in a header as well as in the body, without a role that the account has not', async () => {
    const body = { username: 'user', password: 'user', rememberMe: false };
    const headers = { 'Content-Type': 'application/json;charset=UTF-8' };

    const answer = await gatehouse.call('POST', '/api/authenticate', { body, headers });
    const account = await gatehouse.call('GET', '/api/account', { token: answer.body.id_token });

    expect(answer.headers.authorization).toBe(`Bearer ${answer.body.id_token}`);
    expect(account.body).toMatchObject({ login: 'user', activated: true, authorities: ['ROLE_USER'], langKey: 'en' });
  });
});

it('fields that nobody knows are ignored, and not kept', async () => {
  const unknown = {
    createdBy: '',
    version: 9,
    parameterCount: 90,
    pk: 'USER',
    sk: 'x',
    revision: 'x',
    nested: { a: [] },
  };

  const { status, body } = await gatehouse.call('POST', INTEGRATIONS, { token, body: { ...INTEGRATION, ...unknown } });
  const again = await gatehouse.call('PUT', INTEGRATIONS, { token, body: { ...body, ...unknown } });
  const read = await gatehouse.call('GET', `${INTEGRATIONS}/${body.id}?cacheBuster=1`, { token });

  expect([status, again.status]).toEqual([201, 200]);
  expect(read.body).toEqual({ ...INTEGRATION, id: body.id, description: null, active: true, module: null });
  const item = await gatehouse.table.get(entityKey('INTEGRATION', body.id));
  expect(item).toMatchObject({ parameterCount: 0, version: expect.stringMatching(/^2-/), revision: 2 });
  expect(item).not.toHaveProperty('nested');
});

describe('the path', () => {
  it('is decoded once', async () => {
    const once = await gatehouse.call('GET', '/api/users/%61dmin', { token });
    const twice = await gatehouse.call('GET', '/api/users/%2561dmin', { token });

    expect(once).toMatchObject({ status: 200, body: { login: 'admin' } });
    expect(twice).toMatchObject({ status: 404, body: { path: '/api/users/%61dmin' } });
  });

  it('carries every login that there can be, as Location spells it', async () => {
    const login = 'a!$&*+=^_`{|}~.@-Z';
    const body = { login, email: 'odd@example.com' };

    const { headers } = await gatehouse.call('POST', '/api/users', { token, body });
    const read = await gatehouse.call('GET', headers.location as string, { token });

    expect(read.body.login).toBe(login);
    expect(decodeURIComponent(headers['x-gatehouseapp-params'] as string)).toBe(login);
  });
});
