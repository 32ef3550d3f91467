import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const gatehouse = await useGatehouse();

let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

async function asAdmin(method: string, path: string, body?: unknown) {
  const received = await gatehouse.call(method, path, { token: admin, body });
  expect(received.status, received.text).toBeLessThan(300);
  return received.body;
}

const accountOf = (login: string) => asAdmin('GET', `/api/users/${login}`);
const deactivate = (user: object) => asAdmin('PUT', '/api/users', { ...user, activated: false });
const remove = (login: string) => asAdmin('DELETE', `/api/users/${login}`);

const change = (token: string, body: unknown) =>
  gatehouse.call('POST', '/api/account', { token, body });
const changePassword = (token: string, currentPassword: unknown, newPassword: unknown) =>
  gatehouse.call('POST', '/api/account/change-password', {
    token,
    body: { currentPassword, newPassword },
  });

describe("the caller's own account", () => {
  it('has the same representation as any user', async () => {
    const { token } = await gatehouse.makeCaller('shown', {
      firstName: 'Ada',
      authorities: ['ROLE_ANALYST'],
    });

    const { status, body } = await gatehouse.call('GET', '/api/account', { token });

    expect(status).toBe(200);
    expect(body).toEqual(await accountOf('shown'));
  });

  it('accepts the fields that users may change themselves, and ignores all others', async () => {
    const { user, token } = await gatehouse.makeCaller('modest', {
      password: 'modest',
      authorities: ['ROLE_USER'],
    });
    const admin = await accountOf('admin');
    const allowed = {
      firstName: 'Ada',
      lastName: 'L',
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
      lastModifiedBy: 'nobody',
      password: '',
      passwordHash: 'another',
      version: 99,
    };

    const { status, text, headers } = await change(token, { ...allowed, ...ignored });

    expect({ status, text }).toEqual({ status: 200, text: '' });
    expect(headers).not.toHaveProperty('x-gatehouseapp-alert');
    const { lastModifiedDate, ...after } = await accountOf('modest');
    const { lastModifiedDate: before, ...unchanged } = user;
    expect(after).toEqual({ ...unchanged, ...allowed, lastModifiedBy: 'modest' });
    expect(Date.parse(lastModifiedDate)).toBeGreaterThan(Date.parse(before));
    expect(await accountOf('admin')).toEqual(admin);
    await gatehouse.logIn('modest');
  });

  it('keeps omitted fields, and clears names and image with null or an empty text', async () => {
    const allowed = {
      firstName: 'Ada',
      lastName: 'L',
      email: 'keep@example.com',
      langKey: 'de',
      imageUrl: 'https://x/y',
    };
    const { token } = await gatehouse.makeCaller('keeping', allowed);
    const steps = [
      [{}, allowed],
      [{ firstName: null }, { ...allowed, firstName: null }],
      [
        { lastName: '', imageUrl: '' },
        { ...allowed, firstName: null, lastName: null, imageUrl: null },
      ],
    ] as const;

    for (const [sent, expected] of steps) {
      const { status } = await change(token, sent);

      expect(status).toBe(200);
      expect(await accountOf('keeping')).toMatchObject(expected);
    }
  });

  it.each([
    ['a first name of 51 letters', 'firstName', 'n'.repeat(51), 'Size'],
    ['a last name of 51 letters', 'lastName', 'n'.repeat(51), 'Size'],
    ['a name of two lines', 'lastName', 'L\n', 'Pattern'],
    ['an image of 257 characters', 'imageUrl', 'u'.repeat(257), 'Size'],
    ['a language key of 1 letter', 'langKey', 'd', 'Size'],
    ['a language key of 11 letters', 'langKey', 'd'.repeat(11), 'Size'],
    ['null as language key', 'langKey', null, 'NotNull'],
    ['null as e-mail address', 'email', null, 'NotNull'],
    ['a malformed e-mail address', 'email', 'no address', 'Email'],
    ['a list of e-mail addresses', 'email', ['user@example.com'], 'TypeMismatch'],
    ['a password', 'password', 'another', 'Size'],
  ])('rejects %s with 400 and changes nothing', async (_, field, value, message) => {
    const token = await gatehouse.tokenOf('user');
    const before = await accountOf('user');

    const { status, body } = await change(token, { firstName: 'Changed', [field]: value });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'https://www.jhipster.tech/problem/constraint-violation',
      message: 'error.validation',
      fieldErrors: [{ objectName: 'user', field, message }],
    });
    expect(await accountOf('user')).toEqual(before);
  });

  it('accepts values of the maximum length', async () => {
    const { token } = await gatehouse.makeCaller('lengthy');
    const allowed = {
      firstName: 'f'.repeat(50),
      lastName: 'l'.repeat(50),
      imageUrl: 'u'.repeat(256),
      langKey: 'k'.repeat(10),
    };

    const { status } = await change(token, allowed);

    expect(status).toBe(200);
    expect(await accountOf('lengthy')).toMatchObject(allowed);
  });

  it('cannot claim the e-mail address of another user in another spelling', async () => {
    const { user, token } = await gatehouse.makeCaller('envious');

    const { status, body, headers } = await change(token, {
      firstName: 'Changed',
      email: 'ADMIN@Example.COM',
    });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'https://www.jhipster.tech/problem/email-already-used',
      message: 'error.emailexists',
      path: '/api/account',
    });
    expect(headers['x-gatehouseapp-error']).toBe('error.emailexists');
    expect(await accountOf('envious')).toEqual(user);
  });

  it('keeps its claim to its e-mail address when the spelling changes', async () => {
    const { token } = await gatehouse.makeCaller('speller', { email: 'speller@example.com' });
    const other = await gatehouse.makeCaller('speller2');

    const respelled = await change(token, { email: 'Speller@EXAMPLE.com' });
    const taken = await change(other.token, { email: 'speller@example.com' });

    expect([respelled.status, taken.status]).toEqual([200, 400]);
    expect((await accountOf('speller')).email).toBe('Speller@EXAMPLE.com');
  });

  it('releases its previous e-mail address when it changes', async () => {
    const { token } = await gatehouse.makeCaller('mover', { email: 'old@example.com' });
    const other = await gatehouse.makeCaller('heir');

    const moved = await change(token, { email: 'new@example.com' });
    const inherited = await change(other.token, { email: 'old@example.com' });

    expect([moved.status, inherited.status]).toEqual([200, 200]);
  });
});

describe('the token of a user', () => {
  it('who was deactivated can still read but changes nothing', async () => {
    const { user, token } = await gatehouse.makeCaller('asleep', { password: 'asleep' });
    await deactivate(user);
    const before = await accountOf('asleep');

    const read = await gatehouse.call('GET', '/api/account', { token });
    const changed = await change(token, { firstName: 'Changed' });
    const passwords = [
      await changePassword(token, 'asleep', 'awake'),
      await changePassword(token, 'wrong', 'awake'),
    ];

    expect(read.status).toBe(200);
    expect(read.body).toEqual(before);
    expect([changed, ...passwords].map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(await accountOf('asleep')).toEqual(before);
  });

  it('who was deleted gets 401 from the account, and reads until the token expires', async () => {
    const { token } = await gatehouse.makeCaller('gone', { password: 'gone' });
    await remove('gone');

    const own = [
      await gatehouse.call('GET', '/api/account', { token }),
      await change(token, { firstName: 'Changed' }),
      await changePassword(token, 'gone', 'again'),
    ];
    const others = [
      await gatehouse.call('GET', '/api/users', { token }),
      await gatehouse.call('GET', '/api/users/user', { token }),
      await gatehouse.call('GET', '/api/utm-integrations', { token }),
    ];

    expect(own.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('who was deleted does not belong to a new user with the same login', async () => {
    const { token } = await gatehouse.makeCaller('reborn');
    await remove('reborn');
    const { user } = await gatehouse.makeCaller('reborn');

    const changed = await change(token, { firstName: 'Changed' });

    expect(changed.status).toBe(401);
    expect(await accountOf('reborn')).toEqual(user);
  });
});

describe("an update that changes nothing of the caller's own account", () => {
  it.each([{}, { firstName: 'Same', email: 'unmoved@example.com', langKey: 'en' }])(
    'returns 200 and creates neither a version nor an audit event: %j',
    async (body) => {
      const login = `unmoved-${Object.keys(body).length}`;
      const { user, token } = await gatehouse.makeCaller(login, {
        firstName: 'Same',
        email: 'unmoved@example.com',
      });
      const before = await gatehouse.call('GET', `/api/users/${login}`, { token });

      const { status } = await change(token, body);

      const after = await gatehouse.call('GET', `/api/users/${login}`, { token });
      const audits = await asAdmin('GET', `/api/audits?target.equals=user/${user.id}`);
      expect(status).toBe(200);
      expect([after.headers.etag, after.body]).toEqual([before.headers.etag, before.body]);
      expect(audits.map(({ action }: { action: string }) => action)).toEqual(['user.created']);
      await remove(login);
    },
  );
});
