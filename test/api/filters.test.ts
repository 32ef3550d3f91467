import { beforeAll, describe, expect, it } from 'vitest';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { User } from '../../lib/users/user.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { isOfRequest } from '../support/costs/consumed-units.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { setUser } from '../support/instance/items.ts';

/* What each filter selects is in test/unit/list-query.test.ts. */

/** The items that functions read by their keys, and the partitions that they query. */
let reads: string[] = [];
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    const keys = actionsOf(call).map(({ pk }) => `${call.operation} ${pk}`);
    if (isOfRequest(call)) reads.push(...keys);
    return forward();
  },
});
let token: string;
/** When carl has logged in, and nobody else. */
let lastLogin: string;

const INTEGRATIONS = [
  {
    name: 'Office Logs',
    shortName: 'office',
    integrationType: 'CLOUD',
    description: 'mail and files',
  },
  { name: 'office alerts', shortName: 'alerts', integrationType: 'WEBHOOK', active: false },
  { name: 'Firewall', shortName: 'fw, north', integrationType: 'COLLECTOR', description: 'border' },
  { name: 'Scanner', shortName: 'scan', integrationType: 'SCANNER', description: 'Weekly scan' },
];

beforeAll(async () => {
  token = await gatehouse.adminToken();
  for (const body of INTEGRATIONS)
    await gatehouse.call('POST', '/api/utm-integrations', { token, body });
  for (const [login, firstName, ...authorities] of [
    ['anna', 'Anna', 'ROLE_USER', 'ROLE_ANALYST'],
    ['bert', null, 'ROLE_ANALYST'],
    ['carl', ''],
  ]) {
    const body = {
      login,
      email: `${login}@example.com`,
      firstName,
      authorities,
      activated: login !== 'bert',
    };
    await gatehouse.call('POST', '/api/users', { token, body });
  }
  const carl = (await findUserByLogin(gatehouse.table, 'carl')) as User;
  lastLogin = '2026-02-03T04:05:06.007Z';
  const secondFactor = { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'm', recoveryCodes: 1 };
  const changed = { lastName: 'van Dyck', lastLogin, secondFactor };
  await setUser(gatehouse.table, carl.id, changed);
});

async function find(path: string, field: string, query: string): Promise<unknown[]> {
  const { status, body, headers } = await gatehouse.call('GET', `${path}?sort=id,asc&${query}`, {
    token,
  });
  expect(status, query).toBe(200);
  expect(headers['x-total-count']).toBe(String(body.length));
  return body.map((entity: Record<string, unknown>) => entity[field]);
}

describe('a filter', () => {
  it.each([
    ['name.contains=OFFICE', ['office', 'alerts']],
    ['name.in=Firewall&name.in=Scanner', ['fw, north', 'scan']],
    ['shortName.equals=fw%2C%20north', ['fw, north']],
    ['description.specified=false', ['alerts']],
    ['active.equals=false', ['alerts']],
    ['shortName=fw,%20north', ['fw, north']],
  ])('selects and counts the matching integrations: %s', async (query, expected) => {
    expect(await find('/api/utm-integrations', 'shortName', query)).toEqual(expected);

    const count = await gatehouse.call('GET', `/api/utm-integrations/count?${query}`, { token });
    expect(count.body).toBe(expected.length);
  });

  it.each([
    ['/api/users', 'USER'],
    ['/api/utm-integrations', 'INTEGRATION'],
    ['/api/utm-integrations/count', 'INTEGRATION'],
    ['/api/modules', 'INTEGRATION'],
    ['/api/utm-integration-confs', 'CONF'],
    ['/api/utm-integration-confs/count', 'CONF'],
  ])('by an id reads one entity, by its key: %s', async (path, kind) => {
    const { body } = await gatehouse.call('GET', '/api/utm-integrations?size=1', { token });
    const owner = body[0].id;
    const conf = { integration: { id: owner }, confName: `of ${path}`, confValue: 'value' };
    const parameter = await gatehouse.call('POST', '/api/utm-integration-confs', {
      token,
      body: conf,
    });
    const id = { USER: 1, INTEGRATION: owner, CONF: parameter.body.id }[kind];
    reads = [];

    const found = await gatehouse.call('GET', `${path}?id.equals=${id}`, { token });

    const made = [...reads];
    const own = `/api/utm-integration-confs/${parameter.body.id}`;
    await gatehouse.call('DELETE', own, { token });
    expect(typeof found.body === 'number' ? found.body : found.body.length).toBe(1);
    // The user of the caller is read as well.
    const users = kind === 'USER' ? 2 : 1;
    expect(made.filter((read) => read === `BatchGetItem ${kind}`)).toHaveLength(users);
    expect(made.filter((read) => read.startsWith('Query'))).toEqual([]);
  });

  it.each([
    ['activated.equals=false', ['bert']],
    ['firstName.specified=true', ['admin', 'user', 'anna']],
    ['firstName.equals=', []],
    ['authorities.equals=ROLE_USER&authorities.equals=ROLE_ANALYST', ['anna']],
    ['authorities.specified=false', ['carl']],
    ['email.contains=ANNA@', ['anna']],
    ['text.contains=NN&text.contains=%40EXAMPLE', ['anna']],
    ['text.contains=administrator%20adm', ['admin']],
    ['text.contains=n%20d&activated=true', ['carl']],
    ['lastLogin.lessThan=2026-02-04', ['carl']],
    ['lastLogin.greaterThanOrEqual=2026-02-04&lastLogin.lessThan=2026-02-05', []],
    ['secondFactor.equals=true', ['carl']],
    ['secondFactor=false&login.in=carl,bert', ['bert']],
    ['createdBy.equals=system', ['admin']],
    ['createdDate.lessThan=2020-01-01T00:00:00Z', []],
  ])('selects the matching users: %s', async (query, expected) => {
    expect(await find('/api/users', 'login', query)).toEqual(expected);
  });

  it.each([
    ['/api/users', 'passwordHash.contains'],
    ['/api/users', 'imageUrl'],
    ['/api/users', 'text'],
    ['/api/audits', 'actr.equals'],
    ['/api/utm-integrations/count', 'module'],
    ['/api/utm-integration-confs', 'confValue'],
  ])(
    'of %s is rejected with 400 when its field or operator is unknown: %s',
    async (path, parameter) => {
      const ignored = 'cacheBuster=1&__proto__=2&toString=3';
      const { status, body } = await gatehouse.call('GET', `${path}?${ignored}&${parameter}=x`, {
        token,
      });

      expect([status, body.message]).toEqual([400, 'error.validation']);
      expect(body.fieldErrors).toMatchObject([
        { field: parameter, message: 'Pattern', allowed: expect.any(Array) },
      ]);
      const encoded = await gatehouse.call('GET', `${path}?${parameter.replaceAll('.', '%2e')}=x`, {
        token,
      });
      expect(encoded.body.fieldErrors).toEqual(body.fieldErrors);
    },
  );

  it.each(['asc', 'desc'])('sorts users by their last log-in: %s', async (direction) => {
    const path = `/api/users?sort=lastLogin,${direction}&login.in=anna,carl`;
    const { body } = await gatehouse.call('GET', path, { token });

    expect(body.map(({ login }: { login: string }) => login)).toEqual(['carl', 'anna']);
  });

  it.each(['lastLogin.specified=true', 'secondFactor=true', 'sort=id&sort=login,lastLogin,desc'])(
    'by what only administrators see is rejected with 403 for others: %s',
    async (query) => {
      const caller = await gatehouse.tokenOf('user');
      const { status, body } = await gatehouse.call('GET', `/api/users?${query}`, {
        token: caller,
      });
      const allowed = await gatehouse.call('GET', '/api/users?text.contains=carl', {
        token: caller,
      });

      expect([status, body.message]).toEqual([403, 'error.http.403']);
      expect(allowed.body).toHaveLength(1);
    },
  );
});

describe('the list of parameters', () => {
  beforeAll(async () => {
    for (const [id, confName] of [
      [1, 'url'],
      [3, 'url'],
      [3, 'key'],
    ]) {
      const body = { integration: { id }, confName, confValue: `secret of ${confName}` };
      await gatehouse.call('POST', '/api/utm-integration-confs', { token, body });
    }
  });

  it.each([
    ['integrationId.equals=3', ['url', 'key']],
    ['integrationId.equals=3&confName.equals=key', ['key']],
    ['integrationId.equals=999999999999999', []],
    ['integrationId.equals=0', []],
    ['integrationId.in=1,3', ['url', 'url', 'key']],
  ])('is filtered and counted by %s', async (query, expected) => {
    expect(await find('/api/utm-integration-confs', 'confName', query)).toEqual(expected);

    const count = await gatehouse.call('GET', `/api/utm-integration-confs/count?${query}`, {
      token,
    });
    expect(count.body).toBe(expected.length);
  });
});
