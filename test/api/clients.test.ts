import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import project from '../../package.json' with { type: 'json' };
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { type ReverseProxy, startReverseProxy } from '../support/instance/reverse-proxy.ts';

const gatehouse = await useGatehouse();

const INTEGRATIONS = '/api/utm-integrations';
const PARAMETERS = '/api/utm-integration-confs';

let token: string;
let proxy: ReverseProxy;
/** Entities as they were read, for requests that send them back. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
let existing: { user: any; account: any; integration: any; parameter: any };

beforeAll(async () => {
  token = await gatehouse.adminToken();
  proxy = await startReverseProxy(gatehouse);
  const post = async (path: string, body: unknown) =>
    (await gatehouse.call('POST', path, { token, body })).body;
  const integration = await post(INTEGRATIONS, INTEGRATION);
  existing = {
    user: await gatehouse.makeUser('listed'),
    account: (await gatehouse.call('GET', '/api/account', { token })).body,
    integration,
    parameter: await post(PARAMETERS, { confName: 'key', confValue: 'value', integration }),
  };
});
afterAll(() => proxy.stop());

describe('a JHipster client, whose web server replaces Host', () => {
  const form = {
    firstName: 'Ada',
    lastName: '',
    activated: true,
    langKey: 'en',
    authorities: ['ROLE_USER'],
  };
  const jhipster8 = {
    id: '',
    createdBy: '',
    createdDate: null,
    lastModifiedBy: '',
    lastModifiedDate: null,
    password: '',
  };
  const eight = {
    login: 'eight',
    firstName: 'J',
    lastName: 'H',
    email: 'eight@example.com',
    activated: false,
    langKey: 'de',
    authorities: ['ROLE_USER', 'ROLE_ANALYST'],
  };
  const created = { status: 201 };
  const ok = { status: 200 };
  const empty = { ...ok, text: '' };

  it.each<[string, string, () => unknown, object]>([
    [
      'open a page',
      'GET /management/info',
      () => undefined,
      { body: { activeProfiles: ['prod'], build: { version: project.version } } },
    ],
    [
      'create a user',
      'POST /api/users',
      () => ({ ...form, login: 'six', email: 'six@example.com' }),
      created,
    ],
    [
      'create a user (JHipster 8)',
      'POST /api/users',
      () => ({ ...jhipster8, ...eight }),
      { ...created, body: { ...eight, createdBy: 'admin' } },
    ],
    [
      'toggle a user (JHipster 8)',
      'PUT /api/users',
      () => ({ ...jhipster8, ...existing.user, password: '', activated: false }),
      { ...ok, body: { activated: false } },
    ],
    [
      'save the settings',
      'POST /api/account',
      () => ({ ...existing.account, firstName: 'Grace', authorities: [], login: 'root' }),
      empty,
    ],
    [
      'list integrations',
      `GET ${INTEGRATIONS}?page=0&size=20&sort=id,asc&cacheBuster=1700000000000`,
      () => undefined,
      ok,
    ],
    [
      'create an integration',
      `POST ${INTEGRATIONS}`,
      () => ({ active: true, ...INTEGRATION, description: '' }),
      { ...created, body: { module: null } },
    ],
    [
      'edit an integration',
      `PUT ${INTEGRATIONS}`,
      () => ({ ...existing.integration, module: null, name: 'bleach now for' }),
      ok,
    ],
    [
      'create a parameter',
      `POST ${PARAMETERS}`,
      () => ({
        confName: 'bleach now for',
        confValue: 'x',
        confDescription: '',
        integration: { id: String(existing.integration.id) },
      }),
      { ...created, body: { integration: { name: 'bleach now for' } } },
    ],
    [
      'edit a parameter',
      `PUT ${PARAMETERS}`,
      () => ({ ...existing.parameter, integration: { id: existing.integration.id } }),
      { ...ok, body: { integration: { module: { needsRestart: true } } } },
    ],
  ])('can %s: %s', async (_, request, body, expected) => {
    const [method = '', path = ''] = request.split(' ');
    const headers = {
      Accept: 'application/json, text/plain, */*',
      'Content-Type': 'application/json;charset=UTF-8',
    };

    const response = await proxy.call(method, path, { token, body: body(), headers });

    expect(response).toMatchObject(expected);
  });
});
