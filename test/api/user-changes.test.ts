import { describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { entityKey, loginGuardKey } from '../../lib/table/keys.ts';
import { attributesAre, claim, remove as deleteItem, EXISTS, set } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, update, remove, get, list, total, stored } = useUsers(gatehouse);

describe('updating a user', () => {
  it('accepts the whole object as it was listed', async () => {
    await create({ login: 'listed', email: 'listed@example.com', firstName: 'Li', langKey: 'de' });
    const { body: listed } = await list();
    const before = listed.find(({ login }: { login: string }) => login === 'listed');
    const changes = { lastName: 'Sted', activated: false, authorities: ['ROLE_ANALYST'] };

    const { status, body, headers } = await update({
      ...before,
      ...changes,
      createdBy: 'mallory',
      password: '',
    });

    expect(status).toBe(200);
    expect(body).toEqual({ ...before, ...changes, lastModifiedDate: expect.any(String) });
    expect(body.lastModifiedDate > before.lastModifiedDate).toBe(true);
    expect(headers).toMatchObject({
      'x-gatehouseapp-alert': 'userManagement.updated',
      'x-gatehouseapp-params': 'listed',
    });
    expect((await get('listed')).body).toEqual(body);
  });

  it('keeps omitted fields, including the password', async () => {
    const person = { firstName: 'Sta', lastName: 'Ys', imageUrl: '/s.png', langKey: 'fr' };
    const { id } = await gatehouse.makeUser('stays', {
      ...person,
      authorities: ['ROLE_USER'],
      activated: false,
    });
    const before = await stored(id);

    const { status } = await update({ id: String(id), login: 'stays', email: 'stays@example.com' });

    expect(status).toBe(200);
    expect(before).toMatchObject({
      ...person,
      passwordHash: expect.any(String),
      version: expect.stringMatching(/^1-/),
    });
    expect(await stored(id)).toEqual({
      ...before,
      lastModifiedDate: expect.any(String),
      version: expect.stringMatching(/^2-/),
    });
  });

  it.each([
    ['null', null],
    ['an empty text', ''],
  ])('clears names and image with %s, which a new user can have too', async (_, cleared) => {
    const person = { firstName: 'Cle', lastName: 'Ared', imageUrl: '/c.png' };
    const [none, nulls] = [cleared, null].map((text) => ({
      firstName: text,
      lastName: text,
      imageUrl: text,
    }));
    const login = `cleared-${typeof cleared}`;
    const { body: before } = await create({ login, email: `${login}@example.com`, ...person });

    const updated = await update({ ...before, ...none });
    const created = await create({ login: `${login}-2`, email: `${login}-2@example.com`, ...none });

    for (const { body } of [updated, created, await get(login)])
      expect(body).toMatchObject(nulls as object);
    for (const { id } of [before, created.body])
      expect(await stored(id)).not.toHaveProperty('firstName');
  });

  it('shows a text that was stored as empty as null, and clears it silently', async () => {
    const { body: before } = await create({
      login: 'former',
      email: 'former@example.com',
      lastName: 'Z',
    });
    const key = entityKey('USER', before.id);
    await commit(gatehouse.table, [
      set(key, { firstName: '' }, attributesAre({ login: 'former' })),
    ]);

    const { body } = await update({ ...before, firstName: '' });
    const listed = await list('?login=former&firstName.specified=false');
    const sorted = await list('?size=2000&sort=firstName');
    const { body: audits } = await gatehouse.call('GET', '/api/audits?size=1', {
      token: await gatehouse.adminToken(),
    });

    expect([body.firstName, listed.body[0].firstName, sorted.body.at(-1).firstName]).toEqual([
      null,
      null,
      null,
    ]);
    expect(audits[0]).toMatchObject({ action: 'user.updated', targetName: 'former', fields: [] });
  });

  it.each([
    ['secret', 'Size'],
    [' ', 'Size'],
    [7, 'TypeMismatch'],
  ])('rejects the password %j with 400, because an update sets none', async (password, message) => {
    const { body: before } = await get('user');

    const { status, body } = await update({ ...before, firstName: 'Changed', password });

    expect(status).toBe(400);
    expect(body.fieldErrors).toMatchObject([{ objectName: 'user', field: 'password', message }]);
    if (message === 'Size')
      expect(body.fieldErrors[0].reason).toBe('This request sets no password');
    expect((await get('user')).body).toEqual(before);
    expect((await update({ ...before, password: null })).status).toBe(200);
  });

  it.each(['login', 'email', 'activated', 'langKey', 'authorities'])(
    'rejects null for %s with 400',
    async (field) => {
      const { body: before } = await get('user');

      const { status, body } = await update({ ...before, [field]: null });

      expect(status).toBe(400);
      expect(body.fieldErrors).toEqual([{ objectName: 'user', field, message: 'NotNull' }]);
    },
  );

  it.each(['login', 'email'])('requires the field %s', async (field) => {
    const { body: before } = await get('user');

    const { status, body } = await update({ ...before, [field]: undefined });

    expect(status).toBe(400);
    expect(body.fieldErrors).toEqual([{ objectName: 'user', field, message: 'NotNull' }]);
  });

  it.each([undefined, '', null])('rejects the id %j with 400', async (id) => {
    const { status, body } = await update({ id, login: 'nobody', email: 'nobody@example.com' });

    expect({ status, message: body.message }).toEqual({ status: 400, message: 'error.idnull' });
  });

  it('rejects an unknown id with 404 and creates no user', async () => {
    const before = await total();

    const { status, body } = await update({
      id: 4711,
      login: 'nobody',
      email: 'nobody@example.com',
    });

    expect({ status, message: body.message }).toEqual({ status: 404, message: 'error.idnotfound' });
    expect((await get('nobody')).status).toBe(404);
    expect(await total()).toBe(before);
  });

  it.each([
    ['the login', { login: 'admin' }, 'error.userexists'],
    ['the e-mail address', { email: 'ADMIN@example.com' }, 'error.emailexists'],
    ['both', { login: 'admin', email: 'admin@example.com' }, 'error.userexists'],
  ])('rejects %s of another user with 400 and changes nothing', async (_, taken, message) => {
    const { body: before } = await get('user');

    const { status, body } = await update({ ...before, firstName: 'Thief', ...taken });

    expect({ status, message: body.message }).toEqual({ status: 400, message });
    expect((await get('user')).body).toEqual(before);
  });

  it("accepts the user's own login and e-mail address in another case", async () => {
    const { body: before } = await create({ login: 'own', email: 'own@example.com' });

    const { status, body } = await update({ ...before, login: 'OWN', email: 'Own@Example.com' });

    expect(status).toBe(200);
    expect(body).toMatchObject({ login: 'OWN', email: 'Own@Example.com' });
  });

  it('releases the previous login and e-mail address and claims the new ones', async () => {
    const before = await gatehouse.makeUser('maiden');
    await update({ ...before, login: 'married', email: 'married@example.com' });

    const newcomer = await create({ login: 'maiden', email: 'maiden@example.com' });
    const sameLogin = await create({ login: 'married', email: 'third@example.com' });
    const sameEmail = await create({ login: 'third', email: 'married@example.com' });

    expect(newcomer.status).toBe(201);
    expect((await get('maiden')).body.id).toBe(newcomer.body.id);
    expect((await get('married')).body.id).toBe(before.id);
    expect([sameLogin.body.message, sameEmail.body.message]).toEqual([
      'error.userexists',
      'error.emailexists',
    ]);
    await gatehouse.logIn('married', 'maiden');
  });

  it('makes the user unavailable under the previous login', async () => {
    const { body: before } = await create({ login: 'gone', email: 'gone@example.com' });

    await update({ ...before, login: 'found' });

    expect((await get('gone')).status).toBe(404);
    expect((await get('found')).body.id).toBe(before.id);
  });

  it('prevents logins of a deactivated user, who stays listed, until reactivation', async () => {
    const user = await gatehouse.makeUser('pause');
    const logIn = () =>
      gatehouse.call('POST', '/api/authenticate', {
        body: { username: 'pause', password: 'pause' },
      });

    await update({ ...user, activated: false });
    const rejected = await logIn();
    const { body: listed } = await list();
    await update({ ...user, activated: true });

    expect(rejected.status).toBe(401);
    expect(listed).toContainEqual(expect.objectContaining({ login: 'pause', activated: false }));
    expect((await logIn()).status).toBe(200);
  });
});

describe('the login of the operator', () => {
  it.each(['system', 'System', 'SYSTEM'])(
    'is taken, whether an account is created or renamed: %s',
    async (login) => {
      const email = `${login}-1@example.com`;
      const { body: other } = await create({ login: `other-${login}`, email });

      const created = await create({ login, email: `${login}-2@example.com` });
      const renamed = await update({ ...other, login });

      for (const { status, body } of [created, renamed])
        expect([status, body.message]).toEqual([400, 'error.userexists']);
      await remove(other.login);
    },
  );

  it('stays with an account that has it, which can be read, updated and deleted', async () => {
    const { id } = await gatehouse.makeUser('early');
    await commit(gatehouse.table, [
      set(entityKey('USER', id), { login: 'system' }, EXISTS),
      claim(loginGuardKey('system'), { id }, 'retry'),
      deleteItem(loginGuardKey('early'), EXISTS),
    ]);

    await gatehouse.logIn('system', 'early');
    const read = await get('system');
    const updated = await update({ ...read.body, firstName: 'Early' });
    const inOtherCase = await update({ ...read.body, login: 'System' });
    const deleted = await remove('system');

    expect([read.status, updated.status, inOtherCase.status, deleted.status]).toEqual([
      200, 200, 400, 200,
    ]);
  });
});
