import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openBarrier } from '../support/instance/hold-transactions.ts';
import type { Received } from '../support/instance/launch.ts';

/*
 * Conditional requests (RFC 9110, section 13): with If-Match a change succeeds only on the version
 * that was read, and with If-None-Match a read returns only another version.
 */

const barrier = openBarrier();
const gatehouse = await useGatehouse({ intercept: barrier.intercept });
let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

let number = 0;
const send = (method: string, path: string, body?: unknown, ifMatch?: string) =>
  gatehouse.call(method, path, {
    token,
    body,
    headers: ifMatch === undefined ? {} : { 'If-Match': ifMatch },
  });

interface Kind {
  make(): Promise<Received>;
  pathOf(entity: Received['body']): string;
  collection: string;
  changed(entity: Received['body'], text: string): object;
}

async function makeIntegration(): Promise<Received> {
  const body = { name: `Integration ${++number}`, shortName: 'short', integrationType: 'API' };
  return send('POST', '/api/utm-integrations', body);
}

const KINDS: Record<string, Kind> = {
  user: {
    collection: '/api/users',
    make: () =>
      send('POST', '/api/users', {
        login: `user-${++number}`,
        email: `user-${number}@example.com`,
      }),
    pathOf: ({ login }) => `/api/users/${login}`,
    changed: (user, text) => ({ ...user, firstName: text }),
  },
  integration: {
    collection: '/api/utm-integrations',
    make: makeIntegration,
    pathOf: ({ id }) => `/api/utm-integrations/${id}`,
    changed: (integration, text) => ({ ...integration, name: text }),
  },
  parameter: {
    collection: '/api/utm-integration-confs',
    async make() {
      const integration = (await makeIntegration()).body;
      return send('POST', '/api/utm-integration-confs', {
        integration,
        confName: 'a',
        confValue: 'b',
      });
    },
    pathOf: ({ id }) => `/api/utm-integration-confs/${id}`,
    changed: (parameter, text) => ({ ...parameter, confName: text }),
  },
};

describe.each(Object.entries(KINDS))('a %s', (_, { make, pathOf, collection, changed }) => {
  it('has an ETag in every response, and another one after each change', async () => {
    const created = await make();
    const read = await send('GET', pathOf(created.body));
    const updated = await send('PUT', collection, changed(created.body, 'changed'));
    const readAgain = await send('GET', pathOf(created.body));

    expect(created.headers.etag).toMatch(/^"1-[\da-f-]{36}"$/);
    expect(read.headers.etag).toBe(created.headers.etag);
    expect(updated.headers.etag).toMatch(/^"2-[\da-f-]{36}"$/);
    expect(readAgain.headers.etag).toBe(updated.headers.etag);
  });

  it('is changed and deleted only under its ETag, which If-None-Match must not name', async () => {
    const { body, headers } = await make();

    const first = await send('PUT', collection, changed(body, 'first'), headers.etag);
    const second = await send('PUT', collection, changed(body, 'second'), headers.etag);
    const deleted = await send('DELETE', pathOf(body), undefined, headers.etag);
    const now = await send('GET', pathOf(body));
    const under = { token, headers: { 'If-None-Match': String(now.headers.etag) } };
    const excluded = [
      await gatehouse.call('PUT', collection, { ...under, body: changed(body, 'third') }),
      await gatehouse.call('DELETE', pathOf(body), under),
    ];

    expect(first.status).toBe(200);
    expect([second.status, second.body.message]).toEqual([412, 'error.http.412']);
    expect([deleted, ...excluded].map(({ status }) => status)).toEqual([412, 412, 412]);
    expect(now.headers.etag).toBe(first.headers.etag);
    expect((await send('DELETE', pathOf(body), undefined, now.headers.etag)).status).toBe(200);
  });

  it('is returned by GET and HEAD only if If-None-Match does not name its ETag', async () => {
    const { body, headers: created } = await make();

    for (const method of ['GET', 'HEAD'])
      for (const [value, status] of [
        [`"7", W/${created.etag}`, 304],
        ['"1"', 200],
      ] as const) {
        const read = await gatehouse.call(method, pathOf(body), {
          token,
          headers: { 'If-None-Match': value },
        });

        expect([read.status, read.headers.etag]).toEqual([status, created.etag]);
        expect(read.text).toBe(status === 200 && method === 'GET' ? JSON.stringify(read.body) : '');
        expect(read.headers['content-type'] === undefined).toBe(status === 304);
      }
  });

  it('returns 304 for one of several If-None-Match, and 412 for another If-Match', async () => {
    const { body, headers } = await make();
    const get = (conditions: Record<string, string | string[]>) =>
      gatehouse.call('GET', pathOf(body), { token, headers: conditions });

    const several = await get({
      'If-None-Match': ['"7"', String(headers.etag)],
      'If-Match': String(headers.etag),
    });
    const other = await get({ 'If-None-Match': String(headers.etag), 'If-Match': '"7"' });
    const list = await gatehouse.call('GET', collection, {
      token,
      headers: { 'If-None-Match': '*', 'If-Match': '"7"' },
    });

    expect([several.status, other.status, list.status]).toEqual([304, 412, 200]);
  });

  it('lets one of two simultaneous changes under the same ETag succeed', async () => {
    for (const sequentially of [true, false]) {
      const { body, headers } = await make();

      barrier.raise(2, sequentially);
      const both = ['one', 'other'].map((text) =>
        send('PUT', collection, changed(body, text), headers.etag).finally(barrier.lift),
      );
      const responses = await Promise.all(both);

      expect(responses.map(({ status }) => status).sort()).toEqual([200, 412]);
    }
  });
});

it('the ETag of a user does not change with the password', async () => {
  const user = await gatehouse.makeUser('stable');
  const before = await send('GET', '/api/users/stable');
  const body = { currentPassword: 'stable', newPassword: 'another' };
  await gatehouse.call('POST', '/api/account/change-password', {
    token: await gatehouse.tokenOf('stable'),
    body,
  });

  const after = await send('PUT', '/api/users', user, before.headers.etag);

  expect(after.status).toBe(200);
});

it.each(['If-Match', 'If-None-Match'])(
  'a caller that may not read or change gets 401 or 403, and a missing entity 404, by %s as well',
  async (name) => {
    const { body } = await (KINDS.parameter as Kind).make();
    const { token: unauthorized } = await gatehouse.makeCaller(`nobody-${name}`);
    const path = '/api/utm-integration-confs';
    const headers = { [name]: name === 'If-Match' ? '"999"' : '*' };

    for (const [id, as, status] of [
      [body.id, undefined, 401],
      [body.id, unauthorized, 403],
      [999_000_001, token, 404],
    ]) {
      const sent = { token: as, headers };
      const changed = await gatehouse.call('PUT', path, { ...sent, body: { ...body, id } });
      const read = await gatehouse.call('GET', `${path}/${id}`, sent);

      expect([changed.status, read.status]).toEqual([status, status]);
    }
  },
);

it('a deletion with the ETag of an earlier user of the login is rejected with 412', async () => {
  const fields = { login: 'phoenix', email: 'phoenix@example.com' };
  const { headers } = await send('POST', '/api/users', fields);
  await send('DELETE', '/api/users/phoenix');
  await send('POST', '/api/users', fields);

  const deleted = await send('DELETE', '/api/users/phoenix', undefined, headers.etag);

  expect(deleted.status).toBe(412);
  expect((await send('GET', '/api/users/phoenix')).status).toBe(200);
});
