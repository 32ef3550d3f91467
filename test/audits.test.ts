import { beforeAll, describe, expect, it, vi } from 'vitest';
import { auditEntry, OPERATOR } from '../lib/audit/audit-entry.ts';
import { commit } from '../lib/table/change.ts';
import { auditKey, auditPartition, entityKey } from '../lib/table/keys.ts';
import { claim } from '../lib/table/write.ts';
import { useGatehouse } from './support/gatehouse.ts';

/** The ranges of sort keys in which permanent entries were read. */
const rangesRead: string[][] = [];
const gatehouse = useGatehouse({
  intercept({ operation, input }, make) {
    const values = Object.values((input.ExpressionAttributeValues ?? {}) as Record<string, { S?: string }>);
    const [pk, ...range] = values.map(({ S }) => S ?? '');
    if (operation === 'Query' && pk === 'AUDIT#PERMANENT') rangesRead.push(range);
    return make();
  },
});
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.logIn('admin');
});

const send = (method: string, path: string, body?: unknown, token = admin) =>
  gatehouse.call(method, path, { token, ...(body !== undefined && { body }) });
const list = (query = '', token = admin) => send('GET', `/api/audits${query}`, undefined, token);
const newest = async (count: number) => (await list(`?size=${count}`)).body;
const month = () => auditPartition(new Date().toISOString().slice(0, 7));

const person = (login: string) => ({ login, email: `${login}@example.com`, password: 'pass' });

describe('every change leaves an entry in its own transaction', () => {
  /** What a request leaves: the entries that were not there before, without the time and id. */
  async function traceOf(change: () => Promise<{ status: number; text: string }>) {
    const before = await gatehouse.table.query(month());
    const { status, text } = await change();
    const known = new Set(before.map(({ id }) => id));
    const entries = (await gatehouse.table.query(month())).filter(({ id }) => !known.has(id));
    const trace = entries.map(({ actor, actorId, action, target, targetName, fields }) => ({
      ...{ actor, actorId, action, target, targetName, fields },
    }));
    return { status, text, trace };
  }
  const by = (
    actor: string,
    actorId: number,
    action: string,
    target: string,
    targetName: string,
    fields: string[] = [],
  ) => [{ actor, actorId, action, target, targetName, fields }];

  it('on a user', async () => {
    const created = await traceOf(() => send('POST', '/api/users', person('traced')));
    const { id } = JSON.parse(created.text);
    const body = { id, login: 'renamed', email: 'TRACED@example.com', firstName: 'T', authorities: ['ROLE_USER'] };
    const updated = await traceOf(() => send('PUT', '/api/users', body));
    const deleted = await traceOf(() => send('DELETE', '/api/users/renamed'));

    const target = `user/${id}`;
    expect(created.trace).toEqual(by('admin', 1, 'user.created', target, 'traced'));
    const fields = ['login', 'email', 'firstName', 'authorities'];
    expect(updated.trace).toEqual(by('admin', 1, 'user.updated', target, 'traced', fields));
    expect(deleted.trace).toEqual(by('admin', 1, 'user.deleted', target, 'renamed'));
  });

  it('on the own account and its password', async () => {
    const { id } = await gatehouse.makeUser('selfie', { langKey: 'de' });
    const token = await gatehouse.logIn('selfie');
    const account = await traceOf(() => send('POST', '/api/account', { langKey: 'en', lastName: null }, token));
    const passwords = { currentPassword: 'selfie', newPassword: 'another' };
    const password = await traceOf(() => send('POST', '/api/account/change-password', passwords, token));

    const target = `user/${id}`;
    expect(account.trace).toEqual(by('selfie', id, 'account.updated', target, 'selfie', ['langKey']));
    expect(password.trace).toEqual(by('selfie', id, 'password.changed', target, 'selfie'));
  });

  it('on a password that was forgotten', async () => {
    const { id } = await gatehouse.makeUser('lost', { password: undefined });
    const key = gatehouse.keyMailedTo('lost@example.com');

    const body = { key, newPassword: 'found' };
    const { trace } = await traceOf(() => send('POST', '/api/account/reset-password/finish', body));

    expect(trace).toEqual(by('lost', id, 'password.reset', `user/${id}`, 'lost'));
  });

  it('on an integration and its parameters', async () => {
    const base = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
    const made = await traceOf(() => send('POST', '/api/utm-integrations', base));
    const { id } = JSON.parse(made.text);
    const change = { id, ...base, shortName: 'tapped', active: false };
    const changed = await traceOf(() => send('PUT', '/api/utm-integrations', change));
    const parameter = { integration: { id }, confName: 'Key', confValue: 'a-secret' };
    const attached = await traceOf(() => send('POST', '/api/utm-integration-confs', parameter));
    const confId = JSON.parse(attached.text).id;
    const next = { ...parameter, id: confId, confName: 'Other', confValue: 'a-next-secret' };
    const set = await traceOf(() => send('PUT', '/api/utm-integration-confs', next));
    const path = `/api/utm-integrations/${id}/module/restarted`;
    const restarted = await traceOf(() => send('POST', path, { changes: 1 }));
    const again = await traceOf(() => send('POST', path, { changes: 1 }));
    const detached = await traceOf(() => send('DELETE', `/api/utm-integration-confs/${confId}`));
    const gone = await traceOf(() => send('DELETE', `/api/utm-integrations/${id}`));

    const [integration, conf] = [`integration/${id}`, `parameter/${confId}`];
    expect(made.trace).toEqual(by('admin', 1, 'integration.created', integration, 'Tap'));
    expect(changed.trace).toEqual(by('admin', 1, 'integration.updated', integration, 'Tap', ['shortName', 'active']));
    expect(attached.trace).toEqual(by('admin', 1, 'parameter.created', conf, 'Key'));
    expect(set.trace).toEqual(by('admin', 1, 'parameter.updated', conf, 'Key', ['confName', 'confValue']));
    expect(restarted.trace).toEqual(by('admin', 1, 'integration.restarted', integration, 'Tap'));
    expect(again.trace).toEqual([]);
    expect(detached.trace).toEqual(by('admin', 1, 'parameter.deleted', conf, 'Other'));
    expect(gone.trace).toEqual(by('admin', 1, 'integration.deleted', integration, 'Tap'));
  });

  it('and who is refused leaves none', async () => {
    await gatehouse.makeUser('mere', { authorities: ['ROLE_ANALYST'] });
    const token = await gatehouse.logIn('mere');

    const attempts = [
      () => send('POST', '/api/users', person('smuggled'), token),
      () => send('POST', '/api/users', person('mere')),
      () => send('PUT', '/api/users', { id: 999, login: 'x', email: 'x@y.z' }),
      () => send('DELETE', '/api/users/admin'),
      () => send('POST', '/api/utm-integrations', { name: 'T', shortName: 't', integrationType: 'API' }, token),
      () => send('POST', '/api/account/change-password', { currentPassword: 'wrong', newPassword: 'other' }, token),
    ];
    const traces = [];
    for (const attempt of attempts) traces.push(await traceOf(attempt));

    expect(traces.map(({ status }) => status)).toEqual([403, 400, 404, 400, 403, 400]);
    expect(traces.flatMap(({ trace }) => trace)).toEqual([]);
  });

  it('and expires when the settings say, counted from the change', async () => {
    const [entry] = await gatehouse.table.query(month(), { backwards: true, limit: 1 });

    const days = ((entry?.expires as number) - Date.parse(entry?.time as string) / 1000) / 86_400;
    expect(days).toBeCloseTo(30, 4);
  });

  it('and holds no secret: names of fields, never what is in them', async () => {
    const text = JSON.stringify(await gatehouse.table.query(month()));

    for (const secret of ['a-secret', 'a-next-secret', 'another', 'TRACED@example.com', 'argon2', 'selfie@']) {
      expect(text).not.toContain(secret);
    }
  });
});

describe('GET /api/audits', () => {
  const entry = (time: string, fields: object = {}) => {
    const id = crypto.randomUUID();
    const whole = { id, time, actor: 'ada', actorId: 77, action: 'user.updated', target: 'user/7', targetName: 'bob' };
    return claim(auditKey(time, id), { ...whole, fields: ['email'], ...fields }, 'retry');
  };
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

  it('shows the newest first, with time and id', async () => {
    await send('POST', '/api/users', person('first-of-two'));
    await send('POST', '/api/users', person('second-of-two'));

    const [second, first] = await newest(2);

    expect([first.targetName, second.targetName]).toEqual(['first-of-two', 'second-of-two']);
    expect(Date.now() - Date.parse(second.time)).toBeLessThan(10_000);
    expect(Object.keys(second).sort()).toEqual(
      ['action', 'actor', 'actorId', 'fields', 'id', 'target', 'targetName', 'time'].sort(),
    );
  });

  it('is for administrators, as the table says now', async () => {
    const user = await gatehouse.makeUser('auditor', { authorities: ['ROLE_ADMIN'] });
    const token = await gatehouse.logIn('auditor');
    const before = (await list('', token)).status;
    await send('PUT', '/api/users', { ...user, authorities: ['ROLE_USER'] });

    const [demoted, anonymous] = [await list('', token), await gatehouse.call('GET', '/api/audits')];

    expect([before, demoted.status, anonymous.status]).toEqual([200, 403, 401]);
  });

  it('goes from month to month, page by page, in either order, and leaves out what has expired', async () => {
    const times = [1, 2, 3, 10, 20, 28, 29].map(daysAgo);
    await commit(
      gatehouse.table,
      times.map((time) => entry(time)),
    );
    await commit(gatehouse.table, [entry(daysAgo(4), { expires: Math.floor(Date.now() / 1000) - 1 })]);
    const mine = '&actor.equals=ada';

    const pages = [];
    for (const page of [0, 1, 2, 3]) pages.push(await list(`?size=3&page=${page}${mine}`));
    const oldest = await list(`?size=3&sort=time,asc${mine}`);

    const shown = pages.map(({ body }) => body.map(({ time }: { time: string }) => time));
    expect(shown).toEqual([times.slice(0, 3), times.slice(3, 6), times.slice(6), []]);
    expect(oldest.body.map(({ time }: { time: string }) => time)).toEqual(times.toReversed().slice(0, 3));
    expect(pages.map(({ headers }) => /rel="next"/.test(headers.link ?? ''))).toEqual([true, true, false, false]);
    expect(pages[0]?.headers).not.toHaveProperty('x-total-count');
  });

  it('can be asked by actor, target, action and time', async () => {
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
    expect(await targets(`time.greaterThanOrEqual=${at}&time.lessThanOrEqual=${later}`)).toEqual(['user/9', 'user/8']);
    expect(await targets(`time.equals=${later}`)).toEqual(['user/9']);
    expect(await targets(`time.greaterThan=${later}&time.lessThan=${at}`)).toEqual([]);
    expect(await targets('actorId.equals=1&targetName.equals=nobody')).toEqual([]);
  });

  describe('with entries that never expire', () => {
    /** An entry as an operator's script writes it, where no setting says how many days entries are kept. */
    function permanentEntry(days: number) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(daysAgo(days)) });
      try {
        const target = `user/${1000 + days}` as const;
        return auditEntry(OPERATOR, { action: 'user.created', target, targetName: 'merged', fields: [] });
      } finally {
        vi.useRealTimers();
      }
    }
    const monthEntry = (days: number) => entry(daysAgo(days), { target: `user/${1000 + days}`, targetName: 'merged' });
    const NEWEST_FIRST = [2, 6, 8, 12, 14, 16, 27, 50, 100, 400].map((days) => `user/${1000 + days}`);
    beforeAll(() =>
      commit(gatehouse.table, [...[6, 12, 16, 50, 100, 400].map(permanentEntry), ...[2, 8, 14, 27].map(monthEntry)]),
    );
    const targetsOf = ({ body }: { body: { target: string }[] }) => body.map(({ target }) => target);
    const merged = async (query: string) => targetsOf(await list(`?targetName.equals=merged&${query}`));

    it('lists them after auditDays, in the order of time with all others, in either direction', async () => {
      expect(await merged('size=2000')).toEqual(NEWEST_FIRST);
      expect(await merged('size=2000&sort=time,asc')).toEqual(NEWEST_FIRST.toReversed());
    });

    it.each([1, 3, 4])('in pages of %i lists each of them once, in either direction', async (size) => {
      for (const [sort, expected] of [
        ['time,desc', NEWEST_FIRST],
        ['time,asc', NEWEST_FIRST.toReversed()],
      ] as const) {
        const seen: string[] = [];
        for (let page = 0, more = true; more && page < 20; page++) {
          const answer = await list(`?targetName.equals=merged&size=${size}&page=${page}&sort=${sort}`);
          seen.push(...targetsOf(answer));
          more = /rel="next"/.test(answer.headers.link ?? '');
        }
        expect(seen).toEqual(expected);
      }
    });

    it.each(['time,desc', 'time,asc'])(
      'without filters, where chunks are small, lists each once by %s',
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

    it('restricts them to the time that is asked for', async () => {
      const [time] = (await list('?targetName.equals=merged&target.equals=user/1100')).body.map(
        (found: { time: string }) => found.time,
      );

      const [from, to] = [daysAgo(200), daysAgo(40)];
      rangesRead.length = 0;
      expect(await merged(`time.lessThan=${to}&time.greaterThan=${from}`)).toEqual(['user/1050', 'user/1100']);
      expect(rangesRead).toEqual([[from, `${to}~`]]);
      expect(await merged(`time.lessThan=${daysAgo(40)}`)).toEqual(['user/1050', 'user/1100', 'user/1400']);
      expect(await merged(`time.greaterThan=${daysAgo(9)}`)).toEqual(['user/1002', 'user/1006', 'user/1008']);
      expect(await merged(`time.equals=${time}`)).toEqual(['user/1100']);
      expect(await merged(`time.greaterThan=${daysAgo(40)}&time.lessThan=${daysAgo(50)}`)).toEqual([]);
    });
  });

  it.each(['sort=actor,asc', 'action.equals=user.burned', 'time.lessThan=yesterday'])('refuses %s', async (query) => {
    const { status, body } = await list(`?${query}`);

    expect([status, body.message]).toEqual([400, 'error.validation']);
  });

  it('reads many in chunks, each once', async () => {
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

it('an account that is gone stays known by its id', async () => {
  const { id } = await gatehouse.makeUser('gone', { authorities: ['ROLE_ADMIN'] });
  const token = await gatehouse.logIn('gone');
  await send('DELETE', '/api/users/gone', undefined, token);

  const [entry] = await newest(1);

  expect(entry).toMatchObject({ actor: 'gone', actorId: id, action: 'user.deleted', target: `user/${id}` });
  expect(await gatehouse.table.get(entityKey('USER', id))).toBeUndefined();
});
