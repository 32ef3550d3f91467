import { beforeAll, describe, expect, it } from 'vitest';
import type { AwsResponse } from '../../infra/local/calls/aws-call.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { type Received, useGatehouse } from '../support/instance/gatehouse.ts';
import { openBarrier } from '../support/model/barrier.ts';

/* A module reports its restart with the number of the last parameter change that it has loaded. */

const barrier = openBarrier();
/**
 * Queries of parameters. `seen` is the response to the last one; `outdated` replaces that to the
 * next one.
 */
const queries: { seen?: AwsResponse; outdated?: AwsResponse | undefined } = {};
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    const { KeyConditionExpression, ExpressionAttributeValues } = call.input;
    const isOfParameters =
      KeyConditionExpression && JSON.stringify(ExpressionAttributeValues).includes('"CONF"');
    if (!isOfParameters) return barrier.intercept(call, forward);
    queries.seen = queries.outdated ?? (await forward());
    queries.outdated = undefined;
    return queries.seen;
  },
});
let token: string;
beforeAll(async () => {
  token = await gatehouse.tokenOf('user');
});

const call = (method: string, path: string, body?: unknown) =>
  gatehouse.call(method, path, { token, body });
const report = (id: number, body: unknown) =>
  call('POST', `/api/utm-integrations/${id}/module/restarted`, body);
const storedModuleOf = async (id: number) =>
  (await gatehouse.table.get(entityKey('INTEGRATION', id)))?.module;
const moduleOf = async (id: number) =>
  (await call('GET', `/api/utm-integrations/${id}`)).body.module;

async function makeParameter(): Promise<{ id: number; change: () => Promise<Received> }> {
  const integration = (
    await call('POST', '/api/utm-integrations', {
      name: 'n',
      shortName: 's',
      integrationType: 'API',
    })
  ).body;
  const created = await call('POST', '/api/utm-integration-confs', {
    integration,
    confName: 'a',
    confValue: 'b',
  });
  let changes = 0;
  const change = () =>
    call('PUT', '/api/utm-integration-confs', { ...created.body, confValue: `value ${++changes}` });
  return { id: integration.id, change };
}

describe('a report of a restart', () => {
  it('clears the flag when it repeats the module object as it was read', async () => {
    const { id, change } = await makeParameter();
    await change();

    const { status, body, headers } = await report(id, await moduleOf(id));

    expect(status).toBe(200);
    expect(body.module).toEqual({ needsRestart: false, changes: 1 });
    expect(await moduleOf(id)).toEqual({ needsRestart: false, changes: 1 });
    expect(headers['x-gatehouseapp-alert']).toBe('gatehouseApp.utmIntegration.updated');
  });

  it('does not hide a change that the module has not loaded', async () => {
    const { id, change } = await makeParameter();
    await change();
    const loaded = await moduleOf(id);
    await change();

    const { status, body } = await report(id, loaded);

    expect(status).toBe(200);
    expect(body.module).toEqual({ needsRestart: true, changes: 2 });
  });

  it('does not hide a concurrent change', async () => {
    for (const sequentially of [true, false, true, false]) {
      const { id, change } = await makeParameter();
      await change();

      barrier.raise(2, sequentially);
      const both = [() => report(id, { changes: 1 }), change].map((send) =>
        send().finally(barrier.lift),
      );
      const responses = await Promise.all(both);

      expect(responses.map(({ status }) => status)).toEqual([200, 200]);
      expect(await moduleOf(id)).toEqual({ needsRestart: true, changes: 2 });
    }
  });

  // A query and a transaction are not serializable (DynamoDB Developer Guide, "Isolation levels for
  // transactions").
  it('does not hide a change of which the module has the number but not the value', async () => {
    const { id, change } = await makeParameter();
    await change();
    const load = () =>
      call('GET', `/api/utm-integration-confs?integrationId.equals=${id}&size=100`);
    await load();
    await change();
    queries.outdated = queries.seen;

    const [{ confValue, integration }] = (await load()).body;

    expect([confValue, integration.module]).toEqual([
      'value 2',
      { needsRestart: true, changes: 2 },
    ]);
  });

  it('changes nothing when no restart is needed', async () => {
    const { id, change } = await makeParameter();
    const untouched = await report(id, { changes: 0 });
    await change();
    await report(id, { changes: 1 });
    const before = await call('GET', `/api/utm-integrations/${id}`);
    const again = await report(id, { changes: 1 });

    expect([untouched.status, untouched.body.module]).toEqual([200, null]);
    expect(again.headers.etag).toBe(before.headers.etag);
  });

  it.each([
    [{}],
    [{ changes: null }],
    [{ changes: -1 }],
    [{ changes: 1.5 }],
    [{ changes: '1' }],
    [{ changes: 2 }],
  ])('is rejected with 400 when it names no existing change: %j', async (body) => {
    const { id, change } = await makeParameter();
    await change();

    const { status, body: problem } = await report(id, body);

    expect([status, problem.fieldErrors?.[0]?.field]).toEqual([400, 'changes']);
    expect((await moduleOf(id)).needsRestart).toBe(true);
  });

  it('requires an existing integration and a role that may change integrations', async () => {
    const { id } = await makeParameter();
    const { token: analyst } = await gatehouse.makeCaller('analyst', {
      authorities: ['ROLE_ANALYST'],
    });
    const path = `/api/utm-integrations/${id}/module/restarted`;

    expect((await report(999_999, { changes: 0 })).status).toBe(404);
    expect(
      (await gatehouse.call('POST', path, { token: analyst, body: { changes: 0 } })).status,
    ).toBe(403);
  });
});

it('the time since which a restart is pending is stored until all changes are loaded', async () => {
  const { id, change } = await makeParameter();
  const earliest = Date.now();

  const first = await change();
  const latest = Date.now();
  const flagged = await storedModuleOf(id);
  await change();
  await report(id, { changes: 1 });
  const flaggedAgain = await storedModuleOf(id);
  await report(id, { changes: 2 });

  expect(first.body.integration.module).toEqual({ needsRestart: true, changes: 1 });
  expect(flagged).toEqual({
    needsRestart: true,
    needsRestartSince: expect.any(Number),
    changes: 1,
  });
  const { needsRestartSince } = flagged as { needsRestartSince: number };
  expect(needsRestartSince).toBeGreaterThanOrEqual(earliest);
  expect(needsRestartSince).toBeLessThanOrEqual(latest);
  expect(flaggedAgain).toEqual({ needsRestart: true, needsRestartSince, changes: 2 });
  expect(await storedModuleOf(id)).toEqual({ needsRestart: false, changes: 2 });
});
