import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Filter } from '../../lib/contract/list-query.ts';
import { matcherOf } from '../../lib/contract/selection.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/** The partition and the range of each query for parameters. */
const ranges: (string | undefined)[][] = [];
const gatehouse = await useGatehouse({
  intercept({ operation, input, functionName }, forward) {
    const values = Object.values(
      (input.ExpressionAttributeValues ?? {}) as Record<string, { S?: string }>,
    );
    if (functionName && operation === 'Query' && values[0]?.S === 'CONF')
      ranges.push(values.map(({ S }) => S));
    return forward();
  },
});
let token: string;

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
    ['name.equals=Firewall', ['fw, north']],
    ['name.equals=firewall', []],
    ['name.notEquals=Firewall', ['office', 'alerts', 'scan']],
    ['name.contains=OFFICE', ['office', 'alerts']],
    ['name.doesNotContain=office', ['fw, north', 'scan']],
    ['name.in=Firewall,Scanner', ['fw, north', 'scan']],
    ['name.in=Firewall&name.in=Scanner', ['fw, north', 'scan']],
    ['name.notIn=Firewall,Scanner', ['office', 'alerts']],
    ['shortName.equals=fw%2C%20north', ['fw, north']],
    ['description.specified=true', ['office', 'fw, north', 'scan']],
    ['description.specified=false', ['alerts']],
    ['description.notEquals=border', ['office', 'alerts', 'scan']],
    ['description.doesNotContain=scan', ['office', 'alerts', 'fw, north']],
    ['description.doesNotContain=undefined', ['office', 'alerts', 'fw, north', 'scan']],
    ['integrationType.equals=CLOUD', ['office']],
    ['integrationType.in=CLOUD,SCANNER', ['office', 'scan']],
    ['active.equals=false', ['alerts']],
    ['active.notEquals=false', ['office', 'fw, north', 'scan']],
    ['id.greaterThan=2', ['fw, north', 'scan']],
    ['id.greaterThanOrEqual=2&id.lessThanOrEqual=3', ['alerts', 'fw, north']],
    ['id.lessThan=2', ['office']],
    ['id.in=1,4', ['office', 'scan']],
    ['name.contains=office&active.equals=true', ['office']],
    ['name=Firewall', ['fw, north']],
    ['name=firewall', []],
    ['name=Firewall&name=Scanner', []],
    ['name=Firewall&name=Firewall', ['fw, north']],
    ['shortName=fw,%20north', ['fw, north']],
    ['name=Firewall&active=false', []],
    ['active=false&size=1&page=0', ['alerts']],
    ['integrationType=SCANNER&id=4', ['scan']],
    ['cacheBuster=1700000000000&nonsense=y', ['office', 'alerts', 'fw, north', 'scan']],
  ])('selects and counts the matching integrations: %s', async (query, expected) => {
    expect(await find('/api/utm-integrations', 'shortName', query)).toEqual(expected);

    const count = await gatehouse.call('GET', `/api/utm-integrations/count?${query}`, { token });
    expect(count.body).toBe(expected.length);
  });

  it.each([
    ['activated.equals=true', ['admin', 'user', 'anna', 'carl']],
    ['activated.equals=false', ['bert']],
    ['firstName.specified=true', ['admin', 'user', 'anna']],
    ['firstName.equals=', []],
    ['login=anna', ['anna']],
    ['authorities=ROLE_ADMIN', ['admin']],
    ['authorities.equals=ROLE_USER', ['admin', 'user', 'anna']],
    ['authorities.equals=ROLE_USER&authorities.equals=ROLE_ANALYST', ['anna']],
    ['authorities.notEquals=ROLE_USER', ['bert', 'carl']],
    ['authorities.in=ROLE_ADMIN,ROLE_ANALYST', ['admin', 'anna', 'bert']],
    ['authorities.notIn=ROLE_ADMIN,ROLE_ANALYST', ['user', 'carl']],
    ['authorities.specified=false', ['carl']],
    ['email.contains=ANNA@', ['anna']],
    ['createdBy.equals=system', ['admin']],
    ['createdDate.greaterThan=2020-01-01', ['admin', 'user', 'anna', 'bert', 'carl']],
    ['createdDate.lessThan=2020-01-01T00:00:00Z', []],
    ['createdDate.lessThan=2020-01-01T10:00', []],
    ['firstName.equals=%20Anna', []],
  ])('selects the matching users: %s', async (query, expected) => {
    expect(await find('/api/users', 'login', query)).toEqual(expected);
  });

  it.each([
    '/api/utm-integrations?id.equals=one',
    '/api/utm-integrations?id.in=1,two',
    '/api/utm-integrations?active.equals=perhaps',
    '/api/utm-integrations?description.specified=maybe',
    '/api/utm-integrations?integrationType.equals=MAGIC',
    '/api/utm-integrations/count?id.lessThan=',
    '/api/utm-integration-confs?integrationId.equals=1e3',
    '/api/users?createdDate.greaterThan=yesterday',
    '/api/users?createdDate.greaterThan=2020-13-41',
    '/api/users?createdDate.equals=2024-02-30',
    '/api/users?createdDate.equals=2024-01-01%20(x)',
    '/api/users?createdDate.lessThan=9999-12-31T23:59:59.999-12:00',
    `/api/users?cursor=${Buffer.from(`after ${Number.MAX_SAFE_INTEGER}`).toString('base64url')}`,
    `/api/users?sort=login&cursor=${Buffer.from('after 1').toString('base64url')}`,
    `/api/users?login.contains=a&cursor=${Buffer.from('after 1').toString('base64url')}`,
    '/api/users?cursor=elsewhere',
    `/api/users?login=a&cursor=${Buffer.from('after 1').toString('base64url')}`,
    `/api/audits?cursor=${Buffer.from('after 1').toString('base64url')}`,
    '/api/audits?time=yesterday',
    '/api/utm-integrations?active=perhaps',
    '/api/utm-integrations/count?id=one',
    '/api/utm-integration-confs?integrationId=',
    '/api/users?createdDate=2026-02-30',
  ])('is rejected with 400 when its value is invalid: %s', async (path) => {
    const { status, body } = await gatehouse.call('GET', path, { token });

    expect([status, body.message]).toEqual([400, 'error.validation']);
    expect(body.fieldErrors).toHaveLength(1);
  });

  it.each([
    ['/api/users', 'logn.contains'],
    ['/api/users', 'login.contians'],
    ['/api/users', 'passwordHash.contains'],
    ['/api/users', 'authorities.contains'],
    ['/api/users', 'a.b'],
    ['/api/utm-integrations', 'module.specified'],
    ['/api/utm-integrations', 'name.greaterThan'],
    ['/api/utm-integrations/count', 'nonsense.contains'],
    ['/api/utm-integration-confs', 'confValue.contains'],
    ['/api/utm-integration-confs/count', 'confValue.equals'],
    ['/api/audits', 'actr.equals'],
    ['/api/users', 'login.equal'],
    ['/api/users', 'Login.equals'],
    ['/api/users', 'login.'],
    ['/api/users', '.equals'],
    ['/api/users', 'login.equals.x'],
    ['/api/users', 'login.equals[]'],
    ['/api/users', 'size.equals'],
    ['/api/users', 'authorities'],
    ['/api/users', 'imageUrl'],
    ['/api/users', 'Login'],
    ['/api/users', 'sort[]'],
    ['/api/users', 'Sort'],
    ['/api/utm-integrations/count', 'page[0]'],
    ['/api/users', 'login[equals]'],
    ['/api/users', 'LOGIN[contains]'],
    ['/api/utm-integrations/count', 'active '],
    ['/api/utm-integrations/count', 'module'],
    ['/api/utm-integration-confs', 'confValue'],
    ['/api/utm-integration-confs', 'integration'],
    ['/api/audits', 'fields'],
    ['/api/users', 'authorities.in'],
  ])(
    'of %s is rejected with 400 when its field or operator is unknown: %s',
    async (path, parameter) => {
      const { status, body } = await gatehouse.call('GET', `${path}?cacheBuster=1&${parameter}=x`, {
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

  it('combines with paging, sorting and links', async () => {
    const path = '/api/utm-integrations?name.contains=o&sort=name,desc&size=1&page=1';

    const { body, headers } = await gatehouse.call('GET', path, { token });

    expect(body.map(({ name }: { name: string }) => name)).toEqual(['Office Logs']);
    expect(headers['x-total-count']).toBe('2');
    const bare = await gatehouse.call(
      'GET',
      '/api/utm-integrations?active=true&size=2&cacheBuster=1',
      { token },
    );
    expect(bare.headers.link).toContain(
      '</api/utm-integrations?page=1&size=2&active=true>; rel="next"',
    );
    expect(headers.link).not.toContain('rel="next"');
    expect(headers.link).toContain(
      '</api/utm-integrations?page=0&size=1&sort=name%2Cdesc&name.contains=o>; rel="prev"',
    );
  });
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
    ['integrationId=3', ['url', 'key']],
    ['integrationId=3&integrationId=1', []],
    ['integrationId=3&confName=key', ['key']],
    ['integrationId.equals=3&confName.equals=key', ['key']],
    ['integrationId.equals=4', []],
    ['integrationId.equals=0', []],
    ['integrationId.equals=-1', []],
    ['integrationId.equals=999999999999999', []],
    ['integrationId.equals=9007199254740991', []],
    ['integrationId.in=1,3', ['url', 'url', 'key']],
    ['integrationId.greaterThan=1', ['url', 'key']],
    ['confName.equals=url', ['url', 'url']],
  ])('is filtered and counted by %s', async (query, expected) => {
    expect(await find('/api/utm-integration-confs', 'confName', query)).toEqual(expected);

    const count = await gatehouse.call('GET', `/api/utm-integration-confs/count?${query}`, {
      token,
    });
    expect(count.body).toBe(expected.length);
  });

  it('reads only those of the integration for a bare integrationId', async () => {
    ranges.length = 0;

    await find('/api/utm-integration-confs', 'confName', 'integrationId=3');

    expect(ranges).toEqual([['CONF', '0000000003000000', '0000000003999999']]);
  });

  it('rejects sorting by value with 400: the order would reveal secret values', async () => {
    const { status } = await gatehouse.call(
      'GET',
      '/api/utm-integration-confs?sort=confValue,asc',
      { token },
    );

    expect(status).toBe(400);
  });
});

describe('paging by links', () => {
  /** The target of the link with this relation type (RFC 8288). */
  const targetOf = (link: string | undefined, relation: string) =>
    link
      ?.split(',')
      .find((part) => part.includes(`rel="${relation}"`))
      ?.match(/<(.*)>/)?.[1];

  it.each(['asc', 'desc'])(
    'visits every user once while others are created and deleted (id,%s)',
    async (direction) => {
      const make = (login: string) =>
        gatehouse.makeUser(`${login}-${direction}`, { password: undefined });
      const stable: { id: number }[] = [];
      for (let n = 0; n < 12; n++) stable.push(await make(`stable-${n}`));
      const doomed: string[] = [];
      for (let n = 0; n < 6; n++) doomed.push((await make(`doomed-${n}`)).login);

      const seen: number[] = [];
      let path: string | undefined = `/api/users?size=3&sort=id,${direction}`;
      for (let n = 0; path; n++) {
        const { body, headers } = await gatehouse.call('GET', path, { token });
        seen.push(...body.map(({ id }: { id: number }) => id));
        path = targetOf(headers.link, 'next');
        if (doomed[n]) await gatehouse.call('DELETE', `/api/users/${doomed[n]}`, { token });
        if (n < 3) await make(`latecomer-${n}`);
      }

      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(expect.arrayContaining(stable.map(({ id }) => id)));
    },
  );
});

describe('a filter on texts beyond ASCII', () => {
  beforeAll(async () => {
    for (const [shortName, name] of [
      ['site', 'İnşaat'],
      ['person', 'José'.normalize('NFD')],
    ]) {
      const body = { shortName, name, integrationType: 'API' };
      await gatehouse.call('POST', '/api/utm-integrations', { token, body });
    }
  });

  it.each([
    ['name.contains=inş', ['site']],
    ['name.contains=INŞ', ['site']],
    [`name.contains=${'JOSÉ'.normalize('NFC')}`, ['person']],
    [`name.equals=${'José'.normalize('NFC')}`, ['person']],
    [`name=${'José'.normalize('NFC')}`, ['person']],
    [`name.equals=${'JOSÉ'.normalize('NFC')}`, []],
    [`id.greaterThan=4&name.notIn=${'José'.normalize('NFC')}`, ['site']],
    [`id.greaterThan=4&name.doesNotContain=${'É'.normalize('NFC')}`, ['site']],
  ])('selects and counts those that are the same text: %s', async (query, expected) => {
    expect(await find('/api/utm-integrations', 'shortName', query)).toEqual(expected);

    const count = await gatehouse.call('GET', `/api/utm-integrations/count?${query}`, { token });
    expect(count.body).toBe(expected.length);
  });
});

describe('complementary operators', () => {
  const PAIRS = [
    ['equals', 'notEquals'],
    ['in', 'notIn'],
    ['contains', 'doesNotContain'],
  ] as const;

  it.each(PAIRS)('%s selects exactly the entities that %s does not', (one, other) => {
    fc.assert(
      fc.property(fc.option(fc.string(), { nil: undefined }), fc.string(), (value, operand) => {
        const holds = (operator: Filter['operator']) =>
          matcherOf([{ field: 'value', operator, operands: [operand] }])({ value });

        expect(holds(one)).toBe(!holds(other));
      }),
    );
  });
});
