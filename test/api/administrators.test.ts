import { describe, expect, it, onTestFinished } from 'vitest';
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
  [
    'demoted',
    async (login) => {
      const { body } = await get(login);
      return update({ ...body, login: `${login}-2`, authorities: ['ROLE_USER'] });
    },
  ],
  ['deactivated', async (login) => update({ ...(await get(login)).body, activated: false })],
  ['deleted', (login) => remove(login)],
];

it.each(revocations)(
  'the last activated administrator cannot be %s: the request is rejected with 400',
  async (_, revoke) => {
    await makeDeputy('asleep', { activated: false });
    const { body: before } = await get('admin');

    const { status, body, headers } = await revoke('admin');

    expect({ status, message: body.message }).toEqual({ status: 400, message: 'error.lastadmin' });
    expect(headers).toMatchObject({
      'x-gatehouseapp-error': 'error.lastadmin',
      'x-gatehouseapp-params': 'userManagement',
    });
    expect((await get('admin')).body).toEqual(before);
    expect((await update({ ...before, firstName: 'Sole' })).status).toBe(200);
  },
);

describe('one of two administrators', () => {
  it.each(revocations)('can be %s', async (_, revoke) => {
    await makeDeputy('deputy');

    expect((await revoke('deputy')).status).toBe(200);
    await remove('deputy-2');
  });

  it('becomes the last one when the other is demoted, and not after a reactivation', async () => {
    const { user, token } = await makeDeputy('successor', { activated: false });
    const { body: admin } = await get('admin');
    await update({ ...user, activated: true });

    const handover = await update({ ...admin, authorities: ['ROLE_USER'] }, token);
    const rejected = await remove('successor', token);
    await update(admin, token);

    expect(handover.status).toBe(200);
    expect(rejected.body.message).toBe('error.lastadmin');
  });

  it('can delete their own account, after which their token is rejected with 401', async () => {
    const { token } = await makeDeputy('selfless');

    const { status } = await remove('selfless', token);

    expect(status).toBe(200);
    expect((await remove('user', token)).status).toBe(401);
  });
});

it('administration is allowed right after a promotion, and rejected after a demotion', async () => {
  const { user, token } = await gatehouse.makeCaller('riser');
  const attempt = async (n: number) =>
    (await create({ login: `protege${n}`, email: `protege${n}@example.com` }, token)).status;

  const before = await attempt(1);
  await update({ ...user, authorities: ['ROLE_ADMIN'] });
  const promoted = await attempt(2);
  await update({ ...user, authorities: ['ROLE_USER'] });
  const demoted = await attempt(3);

  expect([before, promoted, demoted]).toEqual([403, 201, 403]);
  expect((await get('protege2')).body.createdBy).toBe('riser');
});
