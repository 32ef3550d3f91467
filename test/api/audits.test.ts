import { beforeAll, describe, expect, it, vi } from 'vitest';
import { auditEntry, OPERATOR } from '../../lib/audit/audit-entry.ts';
import { commit } from '../../lib/table/change.ts';
import { auditKey, auditPartition, entityKey, readBudgetKey } from '../../lib/table/keys.ts';
import { claim } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/** The sort-key ranges of all queries for permanent entries. */
const rangesRead: string[][] = [];
/** The partitions of the trail that a function has queried. */
const partitionsRead: string[] = [];
const gatehouse = await useGatehouse({
  intercept({ operation, input, functionName }, forward) {
    const values = Object.values(
      (input.ExpressionAttributeValues ?? {}) as Record<string, { S?: string }>,
    );
    const [pk = '', ...range] = values.map(({ S }) => S ?? '');
    if (functionName && operation === 'Query' && pk.startsWith('AUDIT#')) partitionsRead.push(pk);
    if (operation === 'Query' && pk === 'AUDIT#PERMANENT') rangesRead.push(range);
    return forward();
  },
});
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

const send = (method: string, path: string, body?: unknown, token = admin) =>
  gatehouse.call(method, path, { token, ...(body !== undefined && { body }) });
/**
 * Forgets what admin has read before, because the pages of a test would exceed the read budget and
 * wait.
 */
async function list(query = '', token = admin) {
  await commit(gatehouse.table, [{ act: 'Delete', key: readBudgetKey(1) }]);
  return send('GET', `/api/audits${query}`, undefined, token);
}
const newest = async (count: number) => (await list(`?size=${count}`)).body;
const month = () => auditPartition(new Date().toISOString().slice(0, 7));

const person = (login: string) => ({ login, email: `${login}@example.com` });

describe('the audit trail', () => {
  /** The response to a request and the audit entries that it added, without their time and id. */
  async function audited(change: () => Promise<{ status: number; text: string }>) {
    const before = await gatehouse.table.query(month());
    const { status, text } = await change();
    const known = new Set(before.map(({ id }) => id));
    const added = (await gatehouse.table.query(month())).filter(({ id }) => !known.has(id));
    const entries = added.map(({ actor, actorId, action, target, targetName, fields }) => ({
      actor,
      actorId,
      action,
      target,
      targetName,
      fields,
    }));
    return { status, text, entries };
  }
  const oneEntry = (
    actor: string,
    actorId: number,
    action: string,
    target: string,
    targetName: string,
    fields: string[] = [],
  ) => [{ actor, actorId, action, target, targetName, fields }];

  it('records the creation, update and deletion of a user', async () => {
    const created = await audited(() => send('POST', '/api/users', person('traced')));
    const { id } = JSON.parse(created.text);
    const body = {
      id,
      login: 'renamed',
      email: 'TRACED@example.com',
      firstName: 'T',
      authorities: ['ROLE_USER'],
    };
    const updated = await audited(() => send('PUT', '/api/users', body));
    const deleted = await audited(() => send('DELETE', '/api/users/renamed'));

    const target = `user/${id}`;
    expect(created.entries).toEqual(oneEntry('admin', 1, 'user.created', target, 'traced'));
    const fields = ['login', 'firstName', 'email', 'authorities'];
    expect(updated.entries).toEqual(oneEntry('admin', 1, 'user.updated', target, 'traced', fields));
    expect(deleted.entries).toEqual(oneEntry('admin', 1, 'user.deleted', target, 'renamed'));
  });

  it("records an update of the caller's own account and a change of its password", async () => {
    const { user, token } = await gatehouse.makeCaller('selfie', {
      password: 'selfie',
      langKey: 'de',
    });
    const account = await audited(() =>
      send('POST', '/api/account', { langKey: 'en', lastName: null }, token),
    );
    const passwords = { currentPassword: 'selfie', newPassword: 'another' };
    const password = await audited(() =>
      send('POST', '/api/account/change-password', passwords, token),
    );

    const target = `user/${user.id}`;
    expect(account.entries).toEqual(
      oneEntry('selfie', user.id, 'account.updated', target, 'selfie', ['langKey']),
    );
    expect(password.entries).toEqual(
      oneEntry('selfie', user.id, 'password.changed', target, 'selfie'),
    );
  });

  it('records a password reset', async () => {
    const { id } = await gatehouse.makeUser('lost', { password: undefined });
    const key = await gatehouse.keyMailedTo('lost@example.com');

    const body = { key, newPassword: 'found' };
    const { entries } = await audited(() =>
      send('POST', '/api/account/reset-password/finish', body),
    );

    expect(entries).toEqual(oneEntry('lost', id, 'password.reset', `user/${id}`, 'lost'));
  });

  it('records every change to an integration and its parameters', async () => {
    const base = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
    const made = await audited(() => send('POST', '/api/utm-integrations', base));
    const { id } = JSON.parse(made.text);
    const change = { id, ...base, shortName: 'tapped', active: false };
    const changed = await audited(() => send('PUT', '/api/utm-integrations', change));
    const parameter = { integration: { id }, confName: 'Key', confValue: 'a-secret' };
    const attached = await audited(() => send('POST', '/api/utm-integration-confs', parameter));
    const confId = JSON.parse(attached.text).id;
    const next = { ...parameter, id: confId, confName: 'Other', confValue: 'a-next-secret' };
    const set = await audited(() => send('PUT', '/api/utm-integration-confs', next));
    const path = `/api/utm-integrations/${id}/module/restarted`;
    const restarted = await audited(() => send('POST', path, { changes: 1 }));
    const again = await audited(() => send('POST', path, { changes: 1 }));
    const detached = await audited(() => send('DELETE', `/api/utm-integration-confs/${confId}`));
    const gone = await audited(() => send('DELETE', `/api/utm-integrations/${id}`));

    const [integration, conf] = [`integration/${id}`, `parameter/${confId}`];
    expect(made.entries).toEqual(oneEntry('admin', 1, 'integration.created', integration, 'Tap'));
    expect(changed.entries).toEqual(
      oneEntry('admin', 1, 'integration.updated', integration, 'Tap', ['shortName', 'active']),
    );
    expect(attached.entries).toEqual(oneEntry('admin', 1, 'parameter.created', conf, 'Key'));
    expect(set.entries).toEqual(
      oneEntry('admin', 1, 'parameter.updated', conf, 'Key', ['confName', 'confValue']),
    );
    expect(restarted.entries).toEqual(
      oneEntry('admin', 1, 'integration.restarted', integration, 'Tap'),
    );
    expect(again.entries).toEqual([]);
    expect(detached.entries).toEqual(oneEntry('admin', 1, 'parameter.deleted', conf, 'Other'));
    expect(gone.entries).toEqual(oneEntry('admin', 1, 'integration.deleted', integration, 'Tap'));
  });

  it('records nothing for a rejected request', async () => {
    const { token } = await gatehouse.makeCaller('mere', {
      password: 'mere',
      authorities: ['ROLE_ANALYST'],
    });

    const attempts = [
      () => send('POST', '/api/users', person('smuggled'), token),
      () => send('POST', '/api/users', person('mere')),
      () => send('PUT', '/api/users', { id: 999, login: 'x', email: 'x@y.z' }),
      () => send('DELETE', '/api/users/admin'),
      () =>
        send(
          'POST',
          '/api/utm-integrations',
          { name: 'T', shortName: 't', integrationType: 'API' },
          token,
        ),
      () =>
        send(
          'POST',
          '/api/account/change-password',
          { currentPassword: 'wrong', newPassword: 'other' },
          token,
        ),
    ];
    const outcomes = [];
    for (const attempt of attempts) outcomes.push(await audited(attempt));

    expect(outcomes.map(({ status }) => status)).toEqual([403, 400, 404, 400, 403, 400]);
    expect(outcomes.flatMap(({ entries }) => entries)).toEqual([]);
  });

  it('keeps an entry for the configured number of days, counted from the change', async () => {
    const [entry] = await gatehouse.table.query(month(), { backwards: true, limit: 1 });

    const days = ((entry?.expires as number) - Date.parse(entry?.time as string) / 1000) / 86_400;
    expect(days).toBeCloseTo(30, 4);
  });

  it('contains the names of changed fields, never their values', async () => {
    const text = JSON.stringify(await gatehouse.table.query(month()));

    for (const secret of [
      'a-secret',
      'a-next-secret',
      'another',
      'TRACED@example.com',
      'argon2',
      'selfie@',
    ]) {
      expect(text).not.toContain(secret);
    }
  });
});

describe('GET /api/audits', () => {
  const entry = (time: string, fields: object = {}) => {
    const id = crypto.randomUUID();
    const whole = {
      id,
      time,
      actor: 'ada',
      actorId: 77,
      action: 'user.updated',
      target: 'user/7',
      targetName: 'bob',
    };
    return claim(auditKey(time, id), { ...whole, fields: ['email'], ...fields }, 'retry');
  };
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

  it('lists the newest entry first, with time and id', async () => {
    await send('POST', '/api/users', person('first-of-two'));
    await send('POST', '/api/users', person('second-of-two'));

    const [second, first] = await newest(2);

    expect([first.targetName, second.targetName]).toEqual(['first-of-two', 'second-of-two']);
    expect(Date.now() - Date.parse(second.time)).toBeLessThan(10_000);
    expect(Object.keys(second).sort()).toEqual(
      [
        ...[
          'action',
          'actor',
          'actorId',
          'fields',
          'id',
          'integrationId',
          'integrationName',
          'target',
        ],
        ...['targetName', 'time'],
      ].sort(),
    );
  });

  it('names the integration of entries about it or its parameters', async () => {
    const { body: integration } = await send('POST', '/api/utm-integrations', {
      name: 'Named',
      shortName: 'named',
      integrationType: 'API',
    });
    const { id } = integration;
    const parameter = { integration: { id }, confName: 'Key', confValue: 'x' };
    const conf = (await send('POST', '/api/utm-integration-confs', parameter)).body;
    await send('PUT', '/api/utm-integrations', { ...integration, name: 'Renamed' });
    await send('PUT', '/api/utm-integration-confs', { ...parameter, id: conf.id });
    await send('DELETE', `/api/utm-integration-confs/${conf.id}`);
    await send('DELETE', `/api/utm-integrations/${id}`);
    const former = {
      actor: 'past',
      action: 'parameter.updated',
      target: `parameter/${conf.id}`,
      targetName: 'Key',
    };
    await commit(gatehouse.table, [entry(daysAgo(0.5), former)]);

    const { body } = await list(`?integrationId.equals=${id}&sort=time`);
    const renamed = await list('?integrationName=Renamed');
    const { body: others } = await list('?integrationId.specified=false');

    expect(
      body.map(({ action, integrationId, integrationName }: Record<string, unknown>) => [
        action,
        integrationId,
        integrationName,
      ]),
    ).toEqual([
      ['parameter.updated', id, null],
      ['integration.created', id, 'Named'],
      ['parameter.created', id, 'Named'],
      ['integration.updated', id, 'Named'],
      ['parameter.updated', id, 'Renamed'],
      ['parameter.deleted', id, 'Renamed'],
      ['integration.deleted', id, 'Renamed'],
    ]);
    expect(renamed.body).toHaveLength(3);
    for (const { action, integrationId } of others)
      expect([action, integrationId]).toEqual([
        expect.stringMatching(/^(user|account|password)/),
        null,
      ]);
  });

  it('rejects a demoted administrator and an anonymous caller, and reads nothing', async () => {
    const { user, token } = await gatehouse.makeCaller('auditor', { authorities: ['ROLE_ADMIN'] });
    const before = (await list('', token)).status;
    await send('PUT', '/api/users', { ...user, authorities: ['ROLE_USER'] });
    partitionsRead.length = 0;

    const [demoted, anonymous] = [
      await list('', token),
      await gatehouse.call('GET', '/api/audits'),
    ];

    expect([before, demoted.status, anonymous.status]).toEqual([200, 403, 401]);
    expect(partitionsRead).toEqual([]);
  });

  it('pages across months in either order and omits expired entries', async () => {
    const times = [1, 2, 3, 10, 20, 28, 29].map(daysAgo);
    await commit(
      gatehouse.table,
      times.map((time) => entry(time)),
    );
    await commit(gatehouse.table, [
      entry(daysAgo(4), { expires: Math.floor(Date.now() / 1000) - 1 }),
    ]);
    const mine = '&actor.equals=ada';

    const pages = [];
    for (const page of [0, 1, 2, 3]) pages.push(await list(`?size=3&page=${page}${mine}`));
    const oldest = await list(`?size=3&sort=time,asc${mine}`);

    const shown = pages.map(({ body }) => body.map(({ time }: { time: string }) => time));
    expect(shown).toEqual([times.slice(0, 3), times.slice(3, 6), times.slice(6), []]);
    expect(oldest.body.map(({ time }: { time: string }) => time)).toEqual(
      times.toReversed().slice(0, 3),
    );
    expect(pages.map(({ headers }) => /rel="next"/.test(headers.link ?? ''))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(pages[0]?.headers).not.toHaveProperty('x-total-count');
  });

  it('filters by actor, target, action and time', async () => {
    const [at, later] = [daysAgo(5.5), daysAgo(5.4)];
    await commit(gatehouse.table, [
      entry(at, { actor: 'eve', target: 'user/8' }),
      entry(later, { actor: 'eve', target: 'user/9', action: 'user.deleted' }),
    ]);
    const targets = async (query: string) =>
      (await list(`?${query}`)).body.map(({ target }: { target: string }) => target);

    expect(await targets('actor.equals=eve')).toEqual(['user/9', 'user/8']);
    expect(await targets('actor.equals=eve&target.equals=user/8')).toEqual(['user/8']);
    expect(await targets('actor.equals=eve&action.equals=user.deleted')).toEqual(['user/9']);
    expect(await targets(`actor.equals=eve&time.greaterThan=${at}`)).toEqual(['user/9']);
    expect(await targets(`actor.equals=eve&time.lessThanOrEqual=${at}`)).toEqual(['user/8']);
    expect(await targets(`time.greaterThanOrEqual=${at}&time.lessThanOrEqual=${later}`)).toEqual([
      'user/9',
      'user/8',
    ]);
    expect(await targets(`time.equals=${later}`)).toEqual(['user/9']);
    expect(await targets(`time.greaterThan=${later}&time.lessThan=${at}`)).toEqual([]);
    expect(await targets('actorId.equals=1&targetName.equals=nobody')).toEqual([]);
  });

  describe('with entries that never expire', () => {
    /** An entry as an operator's script writes it: without a retention setting it never expires. */
    function permanentEntry(days: number) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(daysAgo(days)) });
      try {
        const target = `user/${1000 + days}` as const;
        return auditEntry(
          OPERATOR,
          { action: 'user.created', target, targetName: 'merged', fields: [] },
          Date.now(),
        );
      } finally {
        vi.useRealTimers();
      }
    }
    const monthEntry = (days: number) =>
      entry(daysAgo(days), { target: `user/${1000 + days}`, targetName: 'merged' });
    const NEWEST_FIRST = [2, 6, 8, 12, 14, 16, 27, 50, 100, 400].map(
      (days) => `user/${1000 + days}`,
    );
    beforeAll(() =>
      commit(gatehouse.table, [
        ...[6, 12, 16, 50, 100, 400].map(permanentEntry),
        ...[2, 8, 14, 27].map(monthEntry),
      ]),
    );
    const targetsOf = ({ body }: { body: { target: string }[] }) =>
      body.map(({ target }) => target);
    const merged = async (query: string) =>
      targetsOf(await list(`?targetName.equals=merged&${query}`));

    it('lists them even after auditDays, sorted by time among all others', async () => {
      expect(await merged('size=2000')).toEqual(NEWEST_FIRST);
      expect(await merged('size=2000&sort=time,asc')).toEqual(NEWEST_FIRST.toReversed());
    });

    it.each([1, 3, 4])(
      'lists each of them once in pages of %i, in either direction',
      async (size) => {
        for (const [sort, expected] of [
          ['time,desc', NEWEST_FIRST],
          ['time,asc', NEWEST_FIRST.toReversed()],
        ] as const) {
          const seen: string[] = [];
          for (let page = 0, more = true; more && page < 20; page++) {
            const response = await list(
              `?targetName.equals=merged&size=${size}&page=${page}&sort=${sort}`,
            );
            seen.push(...targetsOf(response));
            more = /rel="next"/.test(response.headers.link ?? '');
          }
          expect(seen).toEqual(expected);
        }
      },
    );

    it.each(['time,desc', 'time,asc'])(
      'lists each entry once without filters, where chunks are small, sorted by %s',
      async (sort) => {
        const whole = (await list(`?size=2000&sort=${sort}`)).body;
        const size = 7;
        const pages = [];
        for (let page = 0; page * size < whole.length; page++) {
          pages.push(...(await list(`?size=${size}&page=${page}&sort=${sort}`)).body);
        }

        const times = whole.map(({ time }: { time: string }) => time);
        expect(times).toEqual(sort === 'time,asc' ? times.toSorted() : times.toSorted().reverse());
        expect(pages).toEqual(whole);
      },
    );

    it.each(['time,desc', 'time,asc'])(
      'lists each of them once along the next links while others are written, with a ' +
        'filter or without: %s',
      async (sort) => {
        for (const filter of ['', '&targetName=merged', '&actor.notEquals=ada']) {
          const whole = (await list(`?size=2000&sort=${sort}${filter}`)).body;
          const seen: { id: string }[] = [];
          let next: string | undefined = `?size=5&sort=${sort}${filter}`;
          for (let page = 0; next && page < 50; page++) {
            const { body, headers } = await list(next);
            seen.push(...body);
            next = /<\/api\/audits([^>]+)>; rel="next"/.exec(headers.link ?? '')?.[1];
            if (next) expect(next).toContain('&cursor=');
            if (page > 0) expect(headers.link).not.toContain('rel="prev"');
            if (page < 3)
              await send(
                'POST',
                '/api/users',
                person(`written-${sort.slice(5)}${filter.length}-${page}`),
              );
          }

          const known = new Set(whole.map(({ id }: { id: string }) => id));
          expect(seen.filter(({ id }) => known.has(id))).toEqual(whole);
          expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
        }
      },
    );

    it('restricts them to the requested time range', async () => {
      const [time] = (await list('?targetName.equals=merged&target.equals=user/1100')).body.map(
        (found: { time: string }) => found.time,
      );

      const [from, to] = [daysAgo(200), daysAgo(40)];
      rangesRead.length = 0;
      expect(await merged(`time.lessThan=${to}&time.greaterThan=${from}`)).toEqual([
        'user/1050',
        'user/1100',
      ]);
      expect(rangesRead).toEqual([[from, `${to}~`]]);
      expect(await merged(`time.lessThan=${daysAgo(40)}`)).toEqual([
        'user/1050',
        'user/1100',
        'user/1400',
      ]);
      expect(await merged(`time.greaterThan=${daysAgo(9)}`)).toEqual([
        'user/1002',
        'user/1006',
        'user/1008',
      ]);
      expect(await merged(`time.equals=${time}`)).toEqual(['user/1100']);
      expect(await merged(`time.greaterThan=${daysAgo(40)}&time.lessThan=${daysAgo(50)}`)).toEqual(
        [],
      );
    });
  });

  const cursor = (position: string) =>
    `cursor=${Buffer.from(`after ${position}`).toString('base64url')}`;
  const INVALID = [
    ...[
      'sort=actor,asc',
      'action.equals=user.burned',
      'time.lessThan=yesterday',
      'cursor=',
      'cursor=x',
    ],
    ...[
      '7',
      '2026-11-20T00:00:00.000Z',
      '2026-02-30T00:00:00.000Z#5f0c',
      '9999-99-01T00:00:00.000Z#5f0c',
    ].map(cursor),
  ];
  it.each(INVALID)('rejects %s with 400', async (query) => {
    const { status, body } = await list(`?${query}`);

    expect([status, body.message]).toEqual([400, 'error.validation']);
  });

  it('reads many entries in chunks and lists each once', async () => {
    const time = daysAgo(7);
    for (let n = 0; n < 12; n++) {
      await commit(
        gatehouse.table,
        Array.from({ length: 100 }, () => entry(time, { actor: 'many' })),
      );
    }

    const { body } = await list('?actor.equals=many&size=2000');

    expect(new Set(body.map(({ id }: { id: string }) => id)).size).toBe(1200);
    expect(body).toHaveLength(1200);
  });
});

it('the audit trail identifies a deleted account by its id', async () => {
  const { user, token } = await gatehouse.makeCaller('gone', { authorities: ['ROLE_ADMIN'] });
  await send('DELETE', '/api/users/gone', undefined, token);

  const [entry] = await newest(1);

  expect(entry).toMatchObject({
    actor: 'gone',
    actorId: user.id,
    action: 'user.deleted',
    target: `user/${user.id}`,
  });
  expect(await gatehouse.table.get(entityKey('USER', user.id))).toBeUndefined();
});
