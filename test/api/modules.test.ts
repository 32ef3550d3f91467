import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import type { ModuleReport } from '../../lib/integrations/integration.ts';
import { credentialKey } from '../../lib/integrations/integration-items.ts';
import {
  credentialUseKey,
  isSecret,
  keysOfCredential,
  newClientId,
  newClientSecret,
} from '../../lib/modules/credential.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { EXISTS, put, remove, set, type Write } from '../../lib/table/write.ts';
import { isOfRequest } from '../support/costs/consumed-units.ts';
import { untilEarlyInWindow } from '../support/doubles/time.ts';
import { OF_MODULES, REQUESTS } from '../support/instance/example-requests.ts';
import { startGatehouse, useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { forgetReads, readsOf, setReads } from '../support/instance/items.ts';
import { JWT_BEARER, platformToken, testProvider } from '../support/instance/provider.ts';
import { RELEASE } from '../support/instance/run-variables.ts';
import { openSetup } from '../support/instance/setup.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/* Modules: their credentials, their tokens, and what they are wanted to run. */

const FEW_FAILURES = { failuresPerSource: 9 };
const calls: string[] = [];
const faults = openFaults();
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    if (isOfRequest(call)) calls.push(call.operation);
    return faults.intercept(call, forward);
  },
});
const { table } = gatehouse;
let admin: string;
const setup = useSetup(gatehouse);
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});
beforeEach(() => {
  calls.length = 0;
});

const asAdmin = (method: string, path: string, body?: object) =>
  gatehouse.call(method, path, { token: admin, body });
const create = (id: number, body: object = {}) =>
  asAdmin('POST', `/api/utm-integrations/${id}/credentials`, body);
const list = async (id: number) =>
  (await asAdmin('GET', `/api/utm-integrations/${id}/credentials`)).body;
const exchange = (clientId: string, clientSecret: string, headers = {}) =>
  gatehouse.call('POST', '/api/oauth2/token', {
    body: {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    },
    headers,
  });
const pathOf = (id: number) => `/api/utm-integrations/${id}/module`;
const poll = (id: number, token: string, headers: Record<string, string> = {}) =>
  gatehouse.call('GET', pathOf(id), { token, headers });

/** A poll that states what runs. */
const pollRunning = (id: number, token: string, running: string | number) =>
  poll(id, token, { 'Gatehouse-Running': String(running) });
const GATE = { name: 'Gate', shortName: 'gate', integrationType: 'API' };

/** An integration with a module that has a token. */
async function running(parameters = 0) {
  const { body } = await asAdmin('POST', '/api/utm-integrations', GATE);
  const id = body.id as number;
  const ids: number[] = [];
  for (let n = 0; n < parameters; n++) ids.push((await addParameter(id, `name ${n}`)).body.id);
  return { id, ids, ...(await setup.module(id)) };
}
const addParameter = (id: number, confName: string) =>
  asAdmin('POST', '/api/utm-integration-confs', {
    integration: { id },
    confName,
    confValue: `value of ${confName}`,
  });

describe('a credential', () => {
  it('is shown once, listed without its secret, and exchanged for a token', async () => {
    const id = await setup.integration(0);

    const { status, body, headers } = await create(id);
    const before = await list(id);
    const { body: exchanged } = await exchange(body.clientId, body.clientSecret);

    expect([status, headers.location]).toEqual([
      201,
      `/api/utm-integrations/${id}/credentials/${body.clientId}`,
    ]);
    expect(isSecret(body.clientSecret)).toBe(true);
    expect(
      isSecret(body.clientSecret.replace(/.$/, (last: string) => (last === '0' ? '1' : '0'))),
    ).toBe(false);
    const inAYear = Date.now() + 365 * 86_400_000;
    expect(Math.abs(Date.parse(body.expires) - inAYear)).toBeLessThan(60_000);
    expect(before).toMatchObject([{ clientId: body.clientId, createdBy: 'admin', lastUsed: null }]);
    expect(JSON.stringify(before)).not.toContain(body.clientSecret);
    expect(exchanged).toMatchObject({ token_type: 'Bearer', expires_in: 900 });
    calls.length = 0;
    const again = await exchange(body.clientId, body.clientSecret);
    // Each function instance keeps the tokens that it has issued.
    if (!RELEASE) {
      expect(again.body.access_token).toBe(exchanged.access_token);
      expect(again.body.expires_in).toBeLessThan(900);
      expect(calls).toEqual(['BatchGetItem']);
    }
    expect((await poll(id, exchanged.access_token)).status).toBe(200);
    const [{ lastUsed }] = await list(id);
    expect(lastUsed).toBe(`${new Date().toISOString().slice(0, 13)}:00:00Z`);
    const items = await table.getAll([
      ...keysOfCredential(id, body.clientId),
      credentialUseKey(body.clientId),
    ]);
    expect(JSON.stringify(items)).not.toContain(body.clientSecret);
    const ends = Math.ceil(Date.parse(body.expires) / 1000);
    expect(items.slice(1).map((item) => item?.expires)).toEqual([ends, ends]);
  });

  it('is exchanged as soon as KMS signs again', async () => {
    const { body } = await create(await setup.integration(0));
    const statusOfExchange = async () => (await exchange(body.clientId, body.clientSecret)).status;

    faults.inject([{ operation: 'Sign', fault: 'throttle' }]);
    const failed = await statusOfExchange();
    faults.inject([]);

    expect([failed, await statusOfExchange()]).toEqual([503, 200]);
  });

  it('expires when it is wanted to, within the limit', async () => {
    const { id } = await running();
    const day = 86_400_000;
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();

    const nextYear = new Date(Date.now() + 305 * day).getUTCFullYear();
    const none = [`${nextYear}-02-30T00:00:00Z`, at(day).replace('Z', ''), '2030-01-01', 'soon'];
    const wrong = await Promise.all(
      [at(-day), at(366 * day), ...none].map((expires) => create(id, { expires })),
    );
    const soon = await create(id, { expires: at(day) });
    const { id: other } = await running();
    const local = await create(other, { expires: at(day).replace('Z', '999-00:30') });
    const active = (await list(id)).length;
    const key = entityKey('INTEGRATION', id);
    const stored = (await table.get(key))?.credentials as { clientId: string }[];
    const credentials = stored.map((credential) =>
      credential.clientId === soon.body.clientId ? { ...credential, expires: at(-1) } : credential,
    );
    const ended = { expires: Math.floor(Date.now() / 1000) };
    await commit(table, [
      set(key, { credentials }, EXISTS),
      set(credentialKey(soon.body.clientId), ended, EXISTS),
    ]);

    expect(wrong.map(({ body }) => body.fieldErrors[0].message)).toEqual([
      ...['Size', 'Size', 'Pattern', 'Pattern', 'Pattern', 'Pattern'],
    ]);
    expect(wrong[1]?.body.fieldErrors[0].reason).toBe('in the next 365 days');
    expect(Date.parse(local.body.expires) - Date.now()).toBeGreaterThan(day);
    expect([active, (await list(id)).length]).toEqual([2, 1]);
    expect((await exchange(soon.body.clientId, soon.body.clientSecret)).status).toBe(401);
    // The place of the expired one is free.
    expect((await create(id)).status).toBe(201);
  });

  it('is one of at most two, also of those that are created at once', async () => {
    const id = await setup.integration(0);

    const created = await Promise.all(Array.from({ length: 5 }, () => create(id)));

    const outcomes = created.map(({ status, body }) => (status === 201 ? 'made' : body.message));
    expect(outcomes.sort()).toEqual([...Array(3).fill('error.toomanycredentials'), 'made', 'made']);
    expect(await list(id)).toHaveLength(2);
  });

  it('is audited with its client id when it is created and deleted alone', async () => {
    const id = await setup.integration(0);
    const remove = async (clientId: string) =>
      (await asAdmin('POST', `/api/utm-integrations/${id}/credentials/${clientId}/delete`)).status;
    const unknown = newClientId(id);
    const statuses = [await remove(unknown)];
    const { clientId } = (await create(id)).body;
    const { clientId: kept } = (await create(id)).body;
    statuses.push(await remove(unknown), await remove(clientId));

    const { body } = await asAdmin('GET', `/api/audits?integrationId.equals=${id}&size=3`);

    expect(statuses).toEqual([404, 404, 200]);
    expect(await list(id)).toMatchObject([{ clientId: kept }]);
    expect(body).toMatchObject([
      { action: 'credential.deleted', changes: [{ field: 'credentials', removed: [clientId] }] },
      { action: 'credential.created', changes: [{ field: 'credentials', added: [kept] }] },
      { action: 'credential.created', changes: [{ field: 'credentials', added: [clientId] }] },
    ]);
  });

  it('that is deleted ends its tokens with the next request, as its integration does', async () => {
    const one = await running();
    const other = await running();
    const remove = (id: number, clientId: string) =>
      asAdmin('POST', `/api/utm-integrations/${id}/credentials/${clientId}/delete`);

    const before = await poll(one.id, one.token);
    const { status } = await remove(one.id, one.clientId);
    await asAdmin('DELETE', `/api/utm-integrations/${other.id}`);

    expect([before.status, status]).toEqual([200, 200]);
    for (const { id, token, clientId, clientSecret } of [one, other]) {
      const refused = await poll(id, token);
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([
        401,
        'Bearer error="invalid_token"',
      ]);
      expect((await exchange(clientId, clientSecret)).body.error).toBe('invalid_client');
      expect((await remove(id, clientId)).status).toBe(404);
    }
    expect((await create(other.id)).status).toBe(404);
    expect(await list(other.id)).toMatchObject({ status: 404 });
  });
});

describe('a credential is refused', () => {
  const refusedAfter = async (module: Awaited<ReturnType<typeof running>>, write: Write) => {
    await commit(table, [write]);
    const exchanged = await exchange(module.clientId, module.clientSecret);
    return [exchanged.body.error, (await poll(module.id, module.token)).status];
  };
  const inThePast = { hash: 'h', expires: 1_000_000_000 };
  const other = (id: number) => ({
    clientId: newClientId(id),
    createdDate: new Date().toISOString(),
    createdBy: 'admin',
    expires: new Date(Date.now() + 86_400_000).toISOString(),
  });

  it.each<[string, (clientId: string, id: number) => Write]>([
    ['whose own item is missing', (clientId) => remove(credentialKey(clientId))],
    ['whose own item has ended', (clientId) => put(credentialKey(clientId), inThePast)],
    [
      'that its integration does not list, as after a restore of only the other item',
      (_, id) => set(entityKey('INTEGRATION', id), { credentials: [other(id)] }, EXISTS),
    ],
  ])('%s', async (_, write) => {
    const module = await running();

    const refused = await refusedAfter(module, write(module.clientId, module.id));

    expect(refused).toEqual(['invalid_client', 401]);
    await commit(table, [
      remove(credentialKey(module.clientId)),
      set(entityKey('INTEGRATION', module.id), { credentials: undefined }, EXISTS),
    ]);
  });

  it('of an integration that was deleted and exists again', async () => {
    const module = await running();
    const key = entityKey('INTEGRATION', module.id);
    const { pk: _pk, sk: _sk, ...attributes } = (await table.get(key)) as Item;
    await asAdmin('DELETE', `/api/utm-integrations/${module.id}`);

    const items = await table.getAll(keysOfCredential(module.id, module.clientId));
    const refused = await refusedAfter(module, put(key, attributes));

    expect(items).toEqual([undefined, undefined]);
    expect(refused).toEqual(['invalid_client', 401]);
    await commit(table, [remove(key)]);
  });
});

describe('the token endpoint', () => {
  it('accepts the credential in the form or by the Basic scheme, not both', async () => {
    const { clientId, clientSecret } = await running();
    const basic = (id: string, secret: string) => ({
      Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    });
    const form = (body: object, headers = {}) =>
      gatehouse.call('POST', '/api/oauth2/token', { body, headers });
    const grant = { grant_type: 'client_credentials' };

    const received = [
      await form({ ...grant, client_id: clientId, client_secret: clientSecret }),
      await form(grant, basic(clientId, clientSecret)),
      await form(
        { ...grant, scope: 'admin module' },
        basic(encodeURIComponent(clientId), clientSecret),
      ),
      await form({ ...grant, client_secret: clientSecret }, basic(clientId, clientSecret)),
      await form(grant),
      await form({ client_id: clientId, client_secret: clientSecret }),
      await form({ ...grant, client_id: '', client_secret: '' }, basic(clientId, clientSecret)),
      await form({ ...grant, client_id: clientId }, basic('other', clientSecret)),
      await form({ ...grant, client_id: clientId }, basic(clientId, clientSecret)),
      await form(grant, basic(clientId, `${clientSecret}:x`)),
      await form(grant, basic(clientId, `${clientSecret}+`)),
      await form(
        { ...grant, client_id: clientId, client_secret: clientSecret },
        { Authorization: 'Bearer Basic' },
      ),
      await form(grant, { Authorization: 'Basic x' }),
      await form({ ...grant, grant_type: 'password', client_id: clientId, client_secret: 'x' }),
    ];

    // RFC 6749, 3.3: the scope that is granted, whatever is requested.
    expect(received.map(({ status, body }) => [status, body.error ?? body.scope])).toEqual([
      [200, 'module'],
      [200, 'module'],
      [200, 'module'],
      [400, 'invalid_request'],
      [401, 'invalid_client'],
      [400, 'invalid_request'],
      [200, 'module'],
      [400, 'invalid_request'],
      [200, 'module'],
      [401, 'invalid_client'],
      [401, 'invalid_client'],
      [200, 'module'],
      [401, 'invalid_client'],
      [400, 'unsupported_grant_type'],
    ]);
    const type = 'application/json; charset=utf-8';
    const common = { 'cache-control': 'no-store', 'content-type': type };
    for (const { headers } of received) expect(headers).toMatchObject(common);
    expect(received[0]?.headers.pragma).toBe('no-cache');
    expect(received[4]?.headers['www-authenticate']).toBe('Basic realm="modules"');
    calls.length = 0;
    // What cannot be a credential is not read, and counts against no source.
    for (const [body, headers] of [
      [{ ...grant, client_id: clientId }, {}],
      [{ ...grant, client_secret: clientSecret }, {}],
      [grant, basic(clientId, '%')],
    ] as const)
      expect((await form(body, headers)).body.error).toBe('invalid_client');
    expect(calls).not.toContain('BatchGetItem');
    const twice = 'grant_type=client_credentials&client_id=a&client_id=b&client_secret=c';
    const asForm = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await form(twice as never, asForm)).body.error).toBe('invalid_request');
  });

  it('states no life that is longer than the life of the credential', async () => {
    const id = await setup.integration(0);
    const expires = new Date(Date.now() + 600_000).toISOString();
    const { body } = await create(id, { expires });

    const { body: first } = await exchange(body.clientId, body.clientSecret);
    const { body: again } = await exchange(body.clientId, body.clientSecret);

    for (const { expires_in } of [first, again]) {
      expect(expires_in).toBeLessThanOrEqual(600);
      expect(expires_in).toBeGreaterThan(500);
    }
  });

  it('rejects a body that is too large or not a form with an error of OAuth', async () => {
    const send = (body: string, type: string) =>
      gatehouse.call('POST', '/api/oauth2/token', {
        body: body as never,
        headers: { 'Content-Type': type },
      });

    const json = await send('{}', 'application/json');
    const large = await send('x'.repeat(65_537), 'application/x-www-form-urlencoded');

    // RFC 6749, 5.2: with 400, and not the 415 and 413 of other requests.
    for (const [{ status, headers, body }, description] of [
      [json, /^The body must be application\/x-www-form-urlencoded/],
      [large, /64 KiB/],
    ] as const) {
      expect([status, headers['content-type']]).toEqual([400, 'application/json; charset=utf-8']);
      const common = { error: 'invalid_request', status: 400, message: 'error.http.400' };
      expect(body).toMatchObject(common);
      expect(body.error_description).toMatch(description);
    }
  });

  it('issues tokens that are accepted while a restore has removed all public keys', async () => {
    const fresh = await startGatehouse();
    const freshSetup = await openSetup(fresh);
    const id = await freshSetup.integration(0);
    const { clientId, clientSecret } = await freshSetup.module(id);
    for (const { sk, jwk } of await fresh.table.query('JWKS'))
      if (jwk) await commit(fresh.table, [remove({ pk: 'JWKS', sk }, EXISTS)]);

    const { body } = await fresh.call('POST', '/api/oauth2/token', {
      body: {
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      },
    });
    const { status } = await fresh.call('GET', pathOf(id), { token: body.access_token });
    await fresh.stop();

    expect(status).toBe(200);
  });

  it('limits the rejected credentials of a source, and locks no module out', async () => {
    const strict = await startGatehouse({ assembly: assemblyWith('dev', FEW_FAILURES) });
    const strictSetup = await openSetup(strict);
    const id = await strictSetup.integration(0);
    const { clientId, clientSecret } = await strictSetup.module(id);
    const wrong = [
      [clientId, clientSecret.replace(/.{6}$/, '000000')],
      [clientId, `${clientSecret}0`],
      [`module-${id}-000000000000`, clientSecret],
      [`module-${id + 1}-${clientId.split('-')[2]}`, clientSecret],
      // Well-formed secrets, of nobody and of another module.
      [clientId, newClientSecret()],
      [clientId, (await strictSetup.module(await strictSetup.integration(0))).clientSecret],
      ['', ''],
      [`module-99999999999999999-${'0'.repeat(5000)}`, 'x'.repeat(5000)],
    ] as const;
    const statuses: number[] = [];
    const send = (client_id: string, client_secret: string, from = '127.0.0.9') =>
      strict.call('POST', '/api/oauth2/token', {
        body: { grant_type: 'client_credentials', client_id, client_secret },
        from,
      });

    await untilEarlyInWindow();
    for (let n = 0; n < 18; n++) {
      const [client, secret] = wrong[n % wrong.length] as readonly [string, string];
      statuses.push((await send(client, secret)).status);
    }

    expect(statuses[0]).toBe(401);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(statuses.at(-1)).toBe(429);
    expect((await send(clientId, clientSecret)).status).toBe(200);
    expect((await send(clientId, 'ghm_', '127.0.0.8')).status).toBe(401);
    const assertion = platformToken(testProvider(), { sub: 'another' });
    const ofPlatform = await strict.call('POST', '/api/oauth2/token', {
      body: { grant_type: JWT_BEARER, client_id: clientId, assertion },
      from: '127.0.0.9',
    });
    expect(ofPlatform.status).toBe(429);
    await strict.stop();
  });
});

describe('the token of a module', () => {
  it.each(REQUESTS.filter(({ access }) => access !== 'public' && !Object(access).module))(
    'is refused by $route',
    async ({ prepare }) => {
      const { token } = await running();
      const { request } = await prepare(setup);

      const { status, headers } = await gatehouse.call(request.method, request.path, {
        ...request,
        token,
      });

      expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"']);
    },
  );

  it.each([...OF_MODULES, ...REQUESTS.filter(({ route }) => route.endsWith('{id}/module'))])(
    'is refused by $route for another integration',
    async ({ prepare }) => {
      const { token } = await running();
      const { request } = await prepare(setup);

      const { status } = await gatehouse.call(request.method, request.path, { ...request, token });

      expect(status).toBe(403);
    },
  );

  it.each(OF_MODULES)('is what $route requires', async ({ prepare }) => {
    const { request } = await prepare(setup);
    const send = (token?: string) =>
      gatehouse.call(request.method, request.path, { ...request, token });

    expect([(await send(request.token)).status, (await send(admin)).status]).toEqual([200, 403]);
    expect((await send()).status).toBe(401);
  });
});

describe('what is wanted of a module', () => {
  it('has a number that moves with every change of it, and with no other', async () => {
    const { id, token } = await running(1);
    const numbers: number[] = [];
    const { body: parameter } = await addParameter(id, 'second');
    const note = async () => numbers.push(Number((await poll(id, token)).body.module.wanted));
    await note();
    const steps = [
      () => addParameter(id, 'third'),
      () =>
        asAdmin('PUT', '/api/utm-integration-confs', {
          id: parameter.id,
          integration: { id },
          confName: 'second',
          confValue: 'new',
        }),
      () => asAdmin('DELETE', `/api/utm-integration-confs/${parameter.id}`),
      () =>
        asAdmin('PUT', '/api/utm-integrations', {
          id,
          ...GATE,
          active: true,
        }),
    ];
    const others = [
      () => asAdmin('POST', `${pathOf(id)}/restarted`, { changes: 1 }),
      async () => {
        const { body } = await create(id);
        return asAdmin('POST', `/api/utm-integrations/${id}/credentials/${body.clientId}/delete`);
      },
      () => pollRunning(id, token, '1'),
    ];

    for (const step of [...steps, ...others]) {
      expect((await step()).status).toBeLessThan(300);
      await note();
    }

    const [first = 0] = numbers;
    expect(numbers.map((number) => number - first)).toEqual([0, 1, 2, 3, 4, 4, 4, 4]);
  });

  // Each function instance has a data key of its own.
  it.skipIf(RELEASE)(
    'is read as of one moment with one decryption, and not again by its number',
    async () => {
      const { id, ids, token } = await running(20);
      await poll(id, token);
      calls.length = 0;

      const { body, headers } = await poll(id, token);
      const afterRead = calls.splice(0);
      const again = await poll(id, token, { 'If-None-Match': String(headers.etag) });
      const afterAgain = calls.splice(0);

      expect(body.parameters.map((parameter: { id: number }) => parameter.id)).toEqual(ids);
      expect(body.parameters[19]).toMatchObject({
        confName: 'name 19',
        confValue: 'value of name 19',
        confDescription: null,
      });
      expect(headers.etag).toBe(`"${body.module.wanted}"`);
      expect(afterRead.filter((action) => action === 'Decrypt')).toHaveLength(1);
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
      expect(afterAgain).toEqual(['BatchGetItem']);
    },
  );

  it('is charged to the module alone, and refused once its budget is spent', async () => {
    const { id, token } = await running(1);
    const { headers } = await poll(id, token);
    const charged = [await readsOf(table, -id), await readsOf(table, id)];
    await setReads(table, -id, 4096);

    const refused = await poll(id, token);
    const known = await poll(id, token, { 'If-None-Match': String(headers.etag) });
    const ofPerson = await poll(id, admin);
    await setReads(table, 1, 4096);
    const refusedPerson = await poll(999_999, admin);
    await forgetReads(table, 1);

    // A query, two items of a snapshot, which cost twice as much, and a decryption.
    expect(charged).toEqual([1 + 2 * 2 + 1, 0]);
    expect([refused.status, known.status, ofPerson.status]).toEqual([429, 304, 200]);
    expect(refusedPerson.status).toBe(429);
  });

  it('is never sent without some of its parameters', async () => {
    const { id, token } = await running(1);
    const key = entityKey('INTEGRATION', id);
    await commit(table, [set(key, { parameterCount: 2 }, EXISTS)]);
    calls.length = 0;

    const { status } = await poll(id, token);

    expect([status, calls.filter((each) => each === 'TransactGetItems').length]).toEqual([503, 5]);
    await commit(table, [set(key, { parameterCount: 1 }, EXISTS)]);
  });

  it('has no values while the integration is inactive', async () => {
    const { id, token } = await running(2);
    await asAdmin('PUT', '/api/utm-integrations', {
      id,
      ...GATE,
      active: false,
    });

    const { status, body } = await poll(id, token);

    expect([status, body.integration.active, body.parameters]).toEqual([200, false, []]);
  });

  it('is shown to people, with or without a precondition', async () => {
    const { id, token } = await running(1);

    const { body, headers } = await poll(id, admin, { 'If-None-Match': '*' });
    expect(body.parameters).toHaveLength(1);
    // What the module runs changes without the number.
    expect([(await poll(id, token)).headers.etag, headers.etag]).toEqual(['"2"', undefined]);
    expect((await poll(999_999, admin)).status).toBe(404);
  });
});

describe('what a module reports', () => {
  it('is stored with its first poll and with every change, and audited', async () => {
    const { id, token, clientId } = await running(2);
    const { body: first } = await poll(id, token);
    const { wanted } = first.module;
    const states: unknown[] = [];
    for (const running of [`${wanted - 1}`, `${wanted - 1};failed=${wanted}`, `${wanted}`]) {
      await pollRunning(id, token, running);
      const { body } = await poll(id, admin);
      states.push([body.module.running, body.module.failed]);
    }

    expect(first.module).toMatchObject({ running: null, failed: null });
    expect(states).toEqual([
      [wanted - 1, null],
      [wanted - 1, wanted],
      [wanted, null],
    ]);
    const { body: entries } = await asAdmin(
      'GET',
      `/api/audits?integrationId.equals=${id}&action.equals=module.reported`,
    );
    expect(entries.map(({ actor, fields }: Record<string, unknown>) => [actor, fields])).toEqual([
      [clientId, ['running', 'failed']],
      [clientId, ['failed']],
      [clientId, ['running']],
    ]);
  });

  it('is recorded three times a second, so that no module keeps its integration busy', async () => {
    const { id, token } = await running();
    const started = Date.now();
    for (let n = 0; n < 30; n++) expect((await pollRunning(id, token, n % 2)).status).toBe(200);
    const seconds = (Date.now() - started) / 1000;

    const { body: entries } = await asAdmin(
      'GET',
      `/api/audits?integrationId.equals=${id}&action.equals=module.reported&size=100`,
    );
    expect(entries.length).toBeGreaterThanOrEqual(3);
    expect(entries.length).toBeLessThanOrEqual(3 * (Math.floor(seconds) + 1));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await pollRunning(id, token, '0;failed=1');
    expect((await poll(id, admin)).body.module).toMatchObject({ running: 0, failed: 1 });
  });

  it('has ten entries in an hour, and then shows that the module flaps', async () => {
    const { id, token } = await running();
    const key = entityKey('INTEGRATION', id);
    const HOUR_MS = 3_600_000;
    const report = (n: number) => pollRunning(id, token, n);
    /** Makes what is stored of the reports look as if so many had entries, as long ago. */
    const entriesBefore = async (entries: number, agoMs: number) => {
      const { running: runs, audited } = ((await table.get(key))?.report ?? {}) as ModuleReport;
      const since = Date.now() - agoMs;
      const stored = { running: runs, audited: { ...audited, since, entries } };
      await commit(table, [set(key, { report: stored }, EXISTS)]);
    };
    const listed = async () => {
      const query = `integrationId.equals=${id}&action.equals=module.reported&sort=time,asc`;
      const { body } = await asAdmin('GET', `/api/audits?${query}`);
      return body.map(({ changes }: { changes: object }) => changes);
    };
    const flapping = async () =>
      (await asAdmin('GET', `/api/modules?id.equals=${id}`)).body.map(
        (module: { flapping: boolean }) => module.flapping,
      );
    await report(0);
    await entriesBefore(9, HOUR_MS / 2);

    await report(1);
    const isFlapping = [await flapping()];
    await report(0);
    await report(1);
    isFlapping.push(await flapping());
    const { body } = await poll(id, admin);
    const inTheHour = await listed();
    await entriesBefore(10, HOUR_MS);
    await report(0);

    expect(inTheHour).toEqual([
      [{ field: 'running', to: 0 }],
      [{ field: 'running', from: 0, to: 1 }],
    ]);
    expect(body.module).toMatchObject({ running: 1, flapping: true });
    expect(isFlapping).toEqual([[false], [true]]);
    expect((await listed()).at(-1)).toEqual([
      { field: 'running', from: 1, to: 0 },
      { field: 'leftOut', to: 2 },
    ]);
    expect(await flapping()).toEqual([true]);
    expect(
      (await asAdmin('GET', `/api/modules?id.equals=${id}&flapping.equals=true`)).body,
    ).toHaveLength(1);
  });

  it('costs one write an hour while nothing changes', async () => {
    const { id, token } = await running();
    const { body } = await poll(id, token);
    const { wanted } = body.module;
    const headers = { 'Gatehouse-Running': String(wanted), 'If-None-Match': `"${wanted}"` };
    await poll(id, token, headers);
    const before = await table.get(entityKey('INTEGRATION', id));
    calls.length = 0;

    for (let n = 0; n < 5; n++) await poll(id, token, headers);

    expect(calls.filter((operation) => /Write|Update/.test(operation))).toEqual([]);
    expect(await table.get(entityKey('INTEGRATION', id))).toEqual(before);
    expect(before?.seen).toBe(`${new Date().toISOString().slice(0, 13)}:00:00Z`);
    const key = entityKey('INTEGRATION', id);
    const report = () =>
      gatehouse.call('POST', `${pathOf(id)}/report`, {
        token,
        body: { running: wanted },
      });
    for (const seeAgain of [() => poll(id, token, headers), report]) {
      await commit(table, [set(key, { seen: '2026-01-01T00:00:00Z' }, EXISTS)]);
      await seeAgain();
      expect((await table.get(key))?.seen).toBe(before?.seen);
    }
    expect(calls.filter((action) => action.startsWith('TransactWrite'))).toEqual([]);
  });

  it('keeps a number that failed from being sent again', async () => {
    const { id, token } = await running(1);
    const { body } = await poll(id, token);
    const { wanted } = body.module;
    const failed = { 'Gatehouse-Running': `${wanted - 1};failed=${wanted}` };

    const again = await poll(id, token, { ...failed, 'If-None-Match': `"${wanted - 1}"` });
    const unknown = await poll(id, token, failed);
    await addParameter(id, 'repaired');
    const repaired = await poll(id, token, { ...failed, 'If-None-Match': `"${wanted}"` });

    expect([again.status, again.headers.etag]).toEqual([304, `"${wanted}"`]);
    expect(unknown.status).toBe(200);
    expect([repaired.status, repaired.body.module.wanted]).toEqual([200, wanted + 1]);
    // After the table was replaced by an older one, the configuration corrects the module.
    const ahead = await pollRunning(id, token, wanted + 2);
    const { running: stillRunning } = (await poll(id, admin)).body.module;
    expect([ahead.status, stillRunning]).toEqual([200, wanted - 1]);
  });

  it('keeps its reason until the failure is another one', async () => {
    const { id, token } = await running(1);
    const explained = { running: 0, failed: 2, reason: 'No such host' };
    const reasonAfter = async (report: ModuleReport, header: string) => {
      await commit(table, [set(entityKey('INTEGRATION', id), { report }, EXISTS)]);
      await pollRunning(id, token, header);
      return (await poll(id, admin)).body.module.reason;
    };

    expect(await reasonAfter(explained, '1;failed=2')).toBe(explained.reason);
    expect(await reasonAfter(explained, '0;failed=1')).toBeNull();
    expect(await reasonAfter({ running: 0, reason: 'Starting' }, '1')).toBeNull();
  });

  it('can be explained, and cannot be about a number that was never wanted', async () => {
    const { id, token } = await running();
    const report = (body: object) =>
      gatehouse.call('POST', `${pathOf(id)}/report`, { token, body });
    const { wanted } = (await poll(id, token)).body.module;

    const explained = await report({ running: 0, failed: wanted, reason: 'No such host' });
    await report({ running: 0, failed: wanted, reason: 'No such host' });
    await poll(id, token, { 'Gatehouse-Running': `0;failed=${wanted}` });
    const state = (await poll(id, admin)).body.module;
    await report({ running: 0, failed: wanted, reason: 'No route' });
    await report({ running: 1, failed: null, reason: '' });
    await report({ running: 1 });
    const audited = `integrationId.equals=${id}&action.equals=module.reported`;
    const { body: entries } = await asAdmin('GET', `/api/audits?${audited}`);
    const wrong = [
      await report({ running: wanted + 1 }),
      await report({ running: 0, failed: wanted + 1 }),
      await report({ running: -1 }),
      await report({}),
    ];
    const malformed = [
      'x',
      '1.5',
      '-1',
      '"1"',
      '1;failed',
      '1;failed=x',
      '1;failed=-1',
      '1;failed=1.5',
      '1, 2',
      '9'.repeat(16),
      '1;a="\\x"',
      '1 ;a',
    ];

    expect(explained.body).toMatchObject({ running: 0, failed: wanted, reason: 'No such host' });
    expect(state).toMatchObject({ running: 0, failed: wanted, reason: 'No such host' });
    expect(wrong.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    expect(entries.map(({ changes }: { changes: object }) => changes)).toEqual([
      [
        { field: 'running', from: 0, to: 1 },
        { field: 'failed', from: wanted },
        { field: 'reason', from: 'No route' },
      ],
      [{ field: 'reason', from: 'No such host', to: 'No route' }],
      [
        { field: 'running', to: 0 },
        { field: 'failed', to: wanted },
        { field: 'reason', to: 'No such host' },
      ],
    ]);
    for (const header of malformed) {
      const { status, body } = await pollRunning(id, token, header);
      expect([header, status, body.fieldErrors]).toEqual([
        header,
        400,
        [expect.objectContaining({ reason: expect.stringContaining('16;failed=17') })],
      ]);
    }
    for (const header of [
      '0',
      ' 0; failed=10',
      '0;other=1;failed=0',
      '0;a="x;\\"y";b=?1;c=:aGk=:;d=@1',
    ])
      expect([header, (await pollRunning(id, token, header)).status]).toEqual([header, 200]);
  });
});

it('an empty Gatehouse-Running states nothing', async () => {
  const { id, token } = await running();
  await pollRunning(id, token, '0');

  const responses = [await pollRunning(id, token, ''), await pollRunning(id, token, ' ')];

  expect(responses.map(({ status, body }) => [status, body.module.running])).toEqual([
    [200, 0],
    [200, 0],
  ]);
});

it('the list of modules tells how far each one is', async () => {
  const unseen = await running();
  const failed = await running(1);
  const behind = await running(1);
  const current = await running(1);
  for (const { id, token } of [failed, behind, current]) {
    const { wanted } = (await poll(id, token)).body.module;
    const state = id === failed.id ? `1;failed=${wanted}` : id === behind.id ? '1' : `${wanted}`;
    await pollRunning(id, token, state);
  }

  for (const [progress, { id }] of Object.entries({ unseen, failed, behind, current })) {
    const { body } = await asAdmin('GET', `/api/modules?progress=${progress}&id=${id}`);
    expect(body).toMatchObject([{ id, progress }]);
  }
});
