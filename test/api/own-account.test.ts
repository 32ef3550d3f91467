import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const gatehouse = await useGatehouse();

let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

/** The account as administrators see it, but for the time of the last login. */
const accountOf = async (login: string) => ({
  ...(await gatehouse.call('GET', `/api/users/${login}`, { token: admin })).body,
  lastLogin: null,
});
const change = (token: string, body: unknown) =>
  gatehouse.call('POST', '/api/account', { token, body });

describe("the caller's own account", () => {
  it('accepts the fields that users may change themselves, and ignores all others', async () => {
    const { user, token } = await gatehouse.makeCaller('modest', {
      password: 'modest',
      authorities: ['ROLE_USER'],
      lastName: 'M',
    });
    const admin = await accountOf('admin');
    const allowed = {
      firstName: 'Ada',
      lastName: null,
      email: 'ada@example.com',
      langKey: 'de',
      imageUrl: 'https://x/y',
    };
    const ignored = {
      id: admin.id,
      login: 'admin',
      authorities: ['ROLE_ADMIN'],
      activated: false,
      createdBy: 'modest',
      password: '',
      passwordHash: 'another',
      version: 99,
    };

    const { status, text, headers } = await change(token, { ...allowed, ...ignored });

    expect({ status, text }).toEqual({ status: 200, text: '' });
    expect(headers).not.toHaveProperty('x-gatehouseapp-alert');
    const after = await accountOf('modest');
    expect(after).toEqual({
      ...user,
      ...allowed,
      lastModifiedBy: 'modest',
      lastModifiedDate: expect.any(String),
    });
    const { body: own } = await gatehouse.call('GET', '/api/account', { token });
    const { recoveryCodesLeft, secondFactorRequiredFrom, ...shown } = own;
    expect({ ...shown, lastLogin: null }).toEqual(after);
    expect([recoveryCodesLeft, secondFactorRequiredFrom]).toEqual([0, null]);
    expect(await accountOf('admin')).toEqual(admin);
    await gatehouse.logIn('modest');
  });

  it('is rejected with 400 and unchanged if a field is invalid', async () => {
    const token = await gatehouse.tokenOf('user');
    const before = await accountOf('user');

    const { status, body } = await change(token, { firstName: 'Changed', lastName: 'L\n' });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'https://www.jhipster.tech/problem/constraint-violation',
      message: 'error.validation',
      fieldErrors: [{ objectName: 'user', field: 'lastName', message: 'Pattern' }],
    });
    expect(await accountOf('user')).toEqual(before);
  });

  it('cannot receive a new address that mail programs show as a link, and keeps one', async () => {
    const localParts = [
      'www.evil.example/confirm?a=1',
      'evil.example!closed',
      'a#b',
      'a%2fb',
      'a／b',
    ];
    for (const [index, localPart] of localParts.entries()) {
      const email = `${localPart}@a.example`;
      await gatehouse.makeUser(`linked${index}`, { email });
      const token = await gatehouse.logIn(`linked${index}`);

      const same = await change(token, { email, firstName: 'Same' });
      const other = await change(token, { email: `x${email}` });

      expect([same.status, other.status]).toEqual([200, 400]);
      expect(other.body.fieldErrors).toMatchObject([{ field: 'email', message: 'Email' }]);
    }
  });

  it('has no new version after an update that changes nothing', async () => {
    const { token } = await gatehouse.makeCaller('unmoved', { firstName: 'Same' });
    const read = () => gatehouse.call('GET', '/api/users/unmoved', { token });
    const before = await read();

    const { status } = await change(token, { firstName: 'Same', email: 'unmoved@example.com' });

    const after = await read();
    expect(status).toBe(200);
    expect([after.headers.etag, after.body]).toEqual([before.headers.etag, before.body]);
  });
});
