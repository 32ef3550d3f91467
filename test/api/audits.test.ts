import { beforeAll, describe, expect, it } from 'vitest';
import { auditPartition } from '../../lib/audit/audit-entry.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';

/*
 * The audit trail, from changes over HTTP to its list. test/unit/audit.test.ts tests what is read.
 */

const gatehouse = await useGatehouse();
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

const send = (method: string, path: string, body?: unknown, token = admin) =>
  gatehouse.call(method, path, { token, ...(body !== undefined && { body }) });
const list = (query: string) => send('GET', `/api/audits?${query}`);
const seriesOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti;
const person = (login: string) => ({ login, email: `${login}@example.com` });

interface Listed {
  readonly id: string;
  readonly action: string;
  readonly target: string;
  readonly targetName: string;
  readonly integrationName: string | null;
  readonly fields: readonly string[];
  readonly changes: readonly object[];
  readonly session: string | null;
  readonly source: string | null;
  readonly actor: string;
  readonly actorId: number;
}
/** What an entry says about its change, on a line. */
const lineOf = ({ action, target, targetName, integrationName, fields }: Listed) =>
  [action, target.replace(/\d+/, '*'), targetName, integrationName, ...fields].join(' ');

const linesOf = async (query: string) => (await list(query)).body.map(lineOf);

describe('the audit trail', () => {
  it('records every change of a user, by whoever made it', async () => {
    const { id } = (await send('POST', '/api/users', person('traced'))).body;
    const key = await gatehouse.keyMailedTo('traced@example.com');
    await send('POST', '/api/account/reset-password/finish', { key, newPassword: 'first' });
    await send('PUT', '/api/users', { id, ...person('renamed'), authorities: ['ROLE_ADMIN'] });
    const token = await gatehouse.tokenOf('renamed');
    const passwords = { currentPassword: 'first', newPassword: 'second' };
    await send('POST', '/api/account/change-password', passwords, token);
    await send('POST', '/api/account', { langKey: 'de', lastName: null }, token);
    const rejected = await send('DELETE', '/api/users/nobody', undefined, token);
    await send('DELETE', '/api/users/renamed', undefined, token);

    const { body } = await list(`target=user/${id}&sort=time`);

    expect(rejected.status).toBe(404);
    expect(body.map(lineOf)).toEqual([
      'user.created user/* traced  login email activated langKey',
      'password.reset user/* traced ',
      'user.updated user/* traced  login email authorities',
      'password.changed user/* renamed ',
      'account.updated user/* renamed  langKey',
      'user.deleted user/* renamed  login email activated langKey authorities',
    ]);
    const actors = body.map(({ actor, actorId, source }: Listed) => [actor, actorId, source]);
    const [byAdmin, before, after] = [
      ['admin', 1, '127.0.0.1'],
      ['traced', id, '127.0.0.1'],
      ['renamed', id, '127.0.0.1'],
    ];
    expect(actors).toEqual([byAdmin, before, byAdmin, after, after, after]);
    expect(Date.now() - Date.parse(body[5].time)).toBeLessThan(300_000);
  });

  it('records every change of an integration and of its parameters', async () => {
    const { body: integration } = await send('POST', '/api/utm-integrations', INTEGRATION);
    const { id } = integration;
    const described = { confName: 'Key', confDescription: 'Of the gate' };
    const parameter = { integration: { id }, ...described, confValue: 'a-secret' };
    const { body: conf } = await send('POST', '/api/utm-integration-confs', parameter);
    await send('PUT', '/api/utm-integrations', { ...integration, name: 'Renamed', active: false });
    const secret = { ...conf, confName: 'Other', secret: true };
    await send('PUT', '/api/utm-integration-confs', secret);
    const restarted = `/api/utm-integrations/${id}/module/restarted`;
    for (let times = 0; times < 2; times++) await send('POST', restarted, { changes: 1 });
    await send('DELETE', `/api/utm-integration-confs/${conf.id}`);
    await send('DELETE', `/api/utm-integrations/${id}`);

    const ofGate = [
      'integration.created integration/* Gate logs Gate logs name shortName integrationType active',
      'parameter.created parameter/* Key Gate logs confName confDescription',
      'integration.updated integration/* Gate logs Gate logs name active',
    ];
    const ofRenamed = [
      'parameter.updated parameter/* Key Renamed confName secret confValue',
      'integration.restarted integration/* Renamed Renamed',
      'parameter.deleted parameter/* Other Renamed confName confDescription secret',
      'integration.deleted integration/* Renamed Renamed name shortName integrationType active',
    ];
    expect(await linesOf(`integrationId.equals=${id}&sort=time`)).toEqual([
      ...ofGate,
      ...ofRenamed,
    ]);
    expect(await linesOf('integrationName=Renamed&sort=time')).toEqual(ofRenamed);
    expect(await linesOf('integrationId.specified=false&action=integration.created')).toEqual([]);
  });

  it('tells who granted and took a role, and opposite changes apart', async () => {
    const { id } = await gatehouse.makeUser('promoted');
    const put = (fields: object) =>
      send('PUT', '/api/users', { id, ...person('promoted'), authorities: [], ...fields });
    await put({ authorities: ['ROLE_ADMIN', 'ROLE_USER'] });
    await put({ authorities: ['ROLE_USER'], activated: false });
    await put({ authorities: ['ROLE_USER'], activated: true });
    const names = { login: 'Promoted', firstName: 'Pro', lastName: 'P', imageUrl: '/p.png' };
    const renamed = { ...names, langKey: 'de', email: 'other@example.com' };
    for (let times = 0; times < 2; times++) await put({ authorities: ['ROLE_USER'], ...renamed });

    const { body } = await list(`target=user/${id}&action=user.updated&sort=time`);

    expect(body.map(({ changes }: Listed) => changes)).toEqual([
      [{ field: 'authorities', added: ['ROLE_ADMIN', 'ROLE_USER'] }],
      [
        { field: 'activated', from: true, to: false },
        { field: 'authorities', removed: ['ROLE_ADMIN'] },
      ],
      [{ field: 'activated', from: false, to: true }],
      [
        { field: 'login', from: 'promoted', to: 'Promoted' },
        { field: 'firstName', to: 'Pro' },
        { field: 'lastName', to: 'P' },
        { field: 'email', from: 'promoted@example.com', to: 'other@example.com' },
        { field: 'imageUrl', to: '/p.png' },
        { field: 'langKey', from: 'en', to: 'de' },
      ],
      [],
    ]);
    const [granted] = (await list(`target=user/${id}&added=ROLE_ADMIN`)).body;
    const [taken] = (await list(`target=user/${id}&removed=ROLE_ADMIN`)).body;
    expect([granted, taken]).toEqual([body[0], body[1]]);
    expect(granted.actor).toBe('admin');
    const readdressed = await list('added.equals=other@example.com');
    expect(readdressed.body).toEqual([body[3]]);
  });

  it('has the address and session of each request, and the command of an operator', async () => {
    const { id } = await gatehouse.makeUser('located', { authorities: ['ROLE_ADMIN'] });
    const token = await gatehouse.logIn('located');
    await send('POST', '/api/account', { firstName: 'L' }, token);
    await send('POST', '/api/utm-integrations', INTEGRATION, token);
    await send('POST', '/api/logout', undefined, token);

    const { body } = await list(`actorId.equals=${id}&sort=time`);

    const session = seriesOf(token);
    expect(body.map(({ action, source, session: of }: Listed) => [action, source, of])).toEqual(
      ['session.started', 'account.updated', 'integration.created', 'session.ended'].map(
        (action) => [action, '127.0.0.1', session],
      ),
    );
    expect(body[3].changes).toEqual([{ field: 'sessions', removed: [session] }]);
    const { body: all } = await list('action.notEquals=reset.requested&size=2000');
    const commands = all.filter(({ source }: Listed) => source === null);
    expect(all.filter(({ session: of, action }: Listed) => !of && !/reset/.test(action))).toEqual(
      [],
    );
    expect(new Set(commands.map(({ session: of }: Listed) => of))).toEqual(
      new Set(['first-admin']),
    );
  });

  it('keeps an entry for the configured number of days, without any secret', async () => {
    const entries = await gatehouse.table.query(
      auditPartition(new Date().toISOString().slice(0, 7)),
    );

    const { expires, time } = entries.at(-1) as unknown as { expires: number; time: string };
    expect((expires - Date.parse(time) / 1000) / 86_400).toBeCloseTo(30, 4);
    for (const value of ['a-secret', 'argon2'])
      expect(JSON.stringify(entries)).not.toContain(value);
  });

  it('rejects the cursor of another list with 400', async () => {
    const cursor = Buffer.from('after 1').toString('base64url');

    const { status, body } = await list(`cursor=${cursor}`);

    expect([status, body.fieldErrors]).toMatchObject([400, [{ field: 'cursor' }]]);
  });
});
