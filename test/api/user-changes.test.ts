import { describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, update, get, list, total, stored } = useUsers(gatehouse);

describe('updating a user', () => {
  it('accepts the whole object as it was listed, and keeps the password', async () => {
    const { id } = await gatehouse.makeUser('listed', {
      firstName: 'Li',
      lastName: 'St',
      langKey: 'de',
    });
    const { body: listed } = await list();
    const before = listed.find(({ login }: { login: string }) => login === 'listed');
    const { lastModifiedDate, securityStamp, ...kept } = (await stored(id)) as Record<
      string,
      unknown
    >;
    delete kept.firstName;
    delete kept.lastName;
    const changes = { lastName: null, activated: false, authorities: ['ROLE_ANALYST'] };

    const { status, body } = await update({
      ...before,
      ...changes,
      firstName: '',
      createdBy: 'mallory',
      password: null,
    });

    expect(status).toBe(200);
    expect(body).toEqual({
      ...before,
      ...changes,
      state: 'deactivated',
      firstName: null,
      lastModifiedDate: expect.any(String),
    });
    expect(body.lastModifiedDate > String(lastModifiedDate)).toBe(true);
    expect((await get('listed')).body).toEqual(body);
    expect(await stored(id)).toEqual({
      ...kept,
      activated: false,
      authorities: ['ROLE_ANALYST'],
      lastModifiedDate: body.lastModifiedDate,
      version: expect.stringMatching(/^2-/),
      // The deactivation has voided mailed keys.
      securityStamp: expect.not.stringMatching(String(securityStamp)),
      // And ended all sessions.
      sessionEndings: 1,
    });
  });

  it('rejects a password with 400, because it sets none', async () => {
    const { body: before } = await get('user');

    const { status, body } = await update({ ...before, password: 'secret' });

    expect([status, body.fieldErrors[0].reason]).toEqual([400, 'This request sets no password']);
  });

  it('rejects an update without an id with 400, and creates no user', async () => {
    const before = await total();

    const { status, body } = await update({ login: 'nobody', email: 'nobody@example.com' });

    expect({ status, message: body.message }).toEqual({ status: 400, message: 'error.idnull' });
    expect(await total()).toBe(before);
  });

  it.each([
    ['the login', { login: 'admin' }, 'error.userexists'],
    ['the address', { email: 'ADMIN@example.com' }, 'error.emailexists'],
    ['a login of the operator', { login: 'System' }, 'error.userexists'],
  ])('rejects %s of another with 400 and changes nothing', async (_, taken, message) => {
    const { body: before } = await get('user');

    const { status, body } = await update({ ...before, firstName: 'Thief', ...taken });

    expect({ status, message: body.message }).toEqual({ status: 400, message });
    expect((await get('user')).body).toEqual(before);
  });

  it('releases the previous login and address and claims the new ones', async () => {
    const before = await gatehouse.makeUser('maiden');
    // The same uniqueness guard, which one transaction cannot both release and claim.
    const respelled = await update({ ...before, login: 'MAIDEN', email: 'Maiden@example.com' });
    await update({ ...before, login: 'married', email: 'married@example.com' });

    const newcomer = await create({ login: 'maiden', email: 'maiden@example.com' });
    const sameLogin = await create({ login: 'married', email: 'third@example.com' });
    const sameEmail = await create({ login: 'third', email: 'married@example.com' });

    expect([respelled.status, newcomer.status]).toEqual([200, 201]);
    expect((await get('MAIDEN')).status).toBe(404);
    expect((await get('maiden')).body.id).toBe(newcomer.body.id);
    expect((await get('married')).body.id).toBe(before.id);
    expect([sameLogin.body.message, sameEmail.body.message]).toEqual([
      'error.userexists',
      'error.emailexists',
    ]);
    await gatehouse.logIn('married', 'maiden');
  });
});
