import { describe, expect, it, onTestFinished } from 'vitest';
import { sequenceKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, update, remove, get } = useUsers(gatehouse);

/** Creates a second administrator, who is deleted when the test ends. */
async function makeDeputy(login: string, fields: object = {}) {
  const deputy = await gatehouse.makeCaller(login, { authorities: ['ROLE_ADMIN'], ...fields });
  onTestFinished(async () => {
    await remove(login);
  });
  return deputy;
}

/** Every request that takes the administrator's rights from a user. */
const revocations: [string, (login: string) => ReturnType<typeof remove>][] = [
  ['demoted', async (login) => update({ ...(await get(login)).body, authorities: ['ROLE_USER'] })],
  ['deactivated', async (login) => update({ ...(await get(login)).body, activated: false })],
  ['deleted', (login) => remove(login)],
];

describe('the last administrator', () => {
  it.each(revocations)('cannot be %s: the request is rejected with 400', async (_, revoke) => {
    const { body: before } = await get('admin');

    const { status, body, headers } = await revoke('admin');

    expect({ status, message: body.message }).toEqual({ status: 400, message: 'error.lastadmin' });
    expect(headers).toMatchObject({
      'x-gatehouseapp-error': 'error.lastadmin',
      'x-gatehouseapp-params': 'userManagement',
    });
    expect((await get('admin')).body).toEqual(before);
    await gatehouse.logIn('admin');
  });

  it.each(revocations)(
    'cannot be %s while the only other administrator is deactivated',
    async (_, revoke) => {
      await makeDeputy('asleep', { activated: false });

      const { body } = await revoke('admin');

      expect(body.message).toBe('error.lastadmin');
    },
  );

  it('keeps login and e-mail address when the rejected update contains new ones', async () => {
    const { body: before } = await get('admin');

    const { body } = await update({
      ...before,
      login: 'boss',
      email: 'boss@example.com',
      authorities: [],
    });

    expect(body.message).toBe('error.lastadmin');
    expect((await get('admin')).body).toEqual(before);
    expect((await get('boss')).status).toBe(404);
  });

  it.each([
    [{ login: 'user', email: 'user@example.com' }, 'error.userexists'],
    [{ email: 'user@example.com' }, 'error.emailexists'],
  ])(
    'cannot take %j from another user: the uniqueness conflict is reported first',
    async (taken, message) => {
      const { body: before } = await get('admin');

      const { body } = await update({ ...before, ...taken, authorities: [] });

      expect(body.message).toBe(message);
    },
  );

  it('can change every other field', async () => {
    const { body: before } = await get('admin');

    const { status } = await update({ ...before, firstName: 'Ada', authorities: ['ROLE_ADMIN'] });

    expect(status).toBe(200);
  });
});

describe('one of two administrators', () => {
  it.each(revocations)('can be %s', async (_, revoke) => {
    await makeDeputy('deputy');

    const { status } = await revoke('deputy');

    expect(status).toBe(200);
  });

  it('becomes the last administrator when the other one is demoted', async () => {
    const { token: successor } = await makeDeputy('successor');
    const { body: admin } = await get('admin');

    const handover = await update({ ...admin, authorities: ['ROLE_USER'] }, successor);
    const rejected = await remove('successor', successor);
    await update(admin, successor);

    expect(handover.status).toBe(200);
    expect(rejected.body.message).toBe('error.lastadmin');
  });

  it('counts as an administrator again after reactivation', async () => {
    const { user, token } = await makeDeputy('returning', { activated: false });
    const { body: admin } = await get('admin');
    await update({ ...user, activated: true });

    const { status } = await update({ ...admin, activated: false }, token);
    await update({ ...admin, activated: true }, token);

    expect(status).toBe(200);
  });

  it('can delete their own account, after which their token is rejected with 403', async () => {
    const { token } = await makeDeputy('selfless');

    const { status } = await remove('selfless', token);

    expect(status).toBe(200);
    expect((await get('selfless')).status).toBe(404);
    expect((await remove('user', token)).status).toBe(403);
  });

  it('can be deleted while deactivated, even if only one active one remains', async () => {
    await makeDeputy('retired', { activated: false });

    const { status } = await remove('retired');

    expect(status).toBe(200);
  });
});

describe('user administration', () => {
  it.each([[['ROLE_USER']], [['ROLE_ANALYST', 'ROLE_USER']], [[]]])(
    'is rejected with 403 for a caller with the roles %j',
    async (authorities) => {
      const login = `mere-${authorities.length}-${authorities[0]}`;
      const { user: own, token } = await gatehouse.makeCaller(login, { authorities });

      const responses = [
        await create({ login: 'smuggled', email: 'smuggled@example.com' }, token),
        await update({ ...own, authorities: ['ROLE_ADMIN'] }, token),
        await remove('user', token),
      ];

      expect(responses.map(({ status }) => status)).toEqual([403, 403, 403]);
      expect((await get('smuggled')).status).toBe(404);
      expect((await get(login)).body).toEqual(own);
    },
  );

  it('is allowed right after a promotion and rejected right after a demotion', async () => {
    const { user, token } = await gatehouse.makeCaller('riser');
    const attempt = async (n: number) =>
      (await create({ login: `protege${n}`, email: `protege${n}@example.com` }, token)).status;

    const before = await attempt(1);
    await update({ ...user, authorities: ['ROLE_ADMIN'] });
    const promoted = await attempt(2);
    await update({ ...user, authorities: ['ROLE_USER'] });
    const demoted = await attempt(3);

    expect([before, promoted, demoted]).toEqual([403, 201, 403]);
  });

  it('is rejected with 403 after deactivation, whatever roles the token has', async () => {
    const { user, token } = await makeDeputy('suspended');
    await update({ ...user, activated: false });

    const { status } = await remove('user', token);

    expect(status).toBe(403);
    expect((await get('user')).status).toBe(200);
  });

  it('records the creator and the last modifier of a user', async () => {
    const { token } = await makeDeputy('scribe');
    const { body: made } = await create({ login: 'traced', email: 'traced@example.com' });

    const { body: changed } = await update({ ...made, firstName: 'T' }, token);

    expect(changed).toMatchObject({
      createdBy: 'admin',
      createdDate: made.createdDate,
      lastModifiedBy: 'scribe',
    });
  });
});

it('a user creation that is rejected with 403 consumes no id', async () => {
  const { token } = await gatehouse.makeCaller('without-right', { authorities: ['ROLE_USER'] });
  const before = await gatehouse.table.get(sequenceKey('USER'));

  const body = { login: 'never', email: 'never@example.com', password: 'never' };
  const { status } = await gatehouse.call('POST', '/api/users', { token, body });

  expect(status).toBe(403);
  expect(await gatehouse.table.get(sequenceKey('USER'))).toEqual(before);
});
