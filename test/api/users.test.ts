import { describe, expect, it } from 'vitest';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, get, remove, total, stored } = useUsers(gatehouse);

const STAMP = /^[\w-]{16}$/;

describe('creating a user', () => {
  it('requires only a login and an e-mail address', async () => {
    const { status, body } = await create({ login: 'plain', email: 'Plain@example.com' });

    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      login: 'plain',
      firstName: null,
      lastName: null,
      email: 'Plain@example.com',
      imageUrl: null,
      activated: true,
      langKey: 'en',
      authorities: [],
      createdBy: 'admin',
      createdDate: expect.any(String),
      lastModifiedBy: 'admin',
      lastModifiedDate: body.createdDate,
    });
    expect(Math.abs(Date.now() - Date.parse(body.createdDate))).toBeLessThan(60_000);
  });

  it('returns the location and the alert headers of the new user', async () => {
    const { headers } = await create({ login: 'a&b=c', email: 'abc@example.com' });

    expect(headers).toMatchObject({
      location: '/api/users/a%26b%3Dc',
      'x-gatehouseapp-alert': 'userManagement.created',
      'x-gatehouseapp-params': 'a%26b%3Dc',
    });
  });

  it.each([102, '102'])('rejects the id %j from the client with 400', async (id) => {
    const { status, body, headers } = await create({
      id,
      login: 'chosen',
      email: 'chosen@example.com',
    });

    expect({ status, message: body.message }).toEqual({ status: 400, message: 'error.idexists' });
    expect(headers).toMatchObject({
      'x-gatehouseapp-error': 'error.idexists',
      'x-gatehouseapp-params': 'userManagement',
    });
    expect((await get('chosen')).status).toBe(404);
  });

  it('stores only fields that the contract lists', async () => {
    const secrets = {
      passwordHash: '$argon2id$',
      passwordChanges: 1,
      tokenExcepted: 'x',
      version: 99,
    };
    const audit = {
      createdBy: 'mallory',
      createdDate: '2001-01-01T00:00:00Z',
      lastModifiedBy: 'mallory',
    };

    const { body } = await create({
      login: 'poured',
      email: 'p@example.com',
      ...secrets,
      ...audit,
      pk: 'ADMINS',
      extra: 1,
    });

    expect(await stored(body.id)).toEqual({
      ...entityKey('USER', body.id),
      id: body.id,
      login: 'poured',
      email: 'p@example.com',
      activated: true,
      langKey: 'en',
      authorities: [],
      emailKeyRule: 'UTS46',
      createdBy: 'admin',
      createdDate: body.createdDate,
      lastModifiedBy: 'admin',
      lastModifiedDate: body.createdDate,
      version: expect.stringMatching(/^1-/),
      accountStamp: expect.stringMatching(STAMP),
      resetStamp: expect.stringMatching(STAMP),
      passwordChanges: 0,
    });
  });

  it('treats logins that differ only in case as distinct', async () => {
    const lower = await create({ login: 'case', email: 'case1@example.com' });
    const upper = await create({ login: 'Case', email: 'case2@example.com' });

    expect([lower.status, upper.status]).toEqual([201, 201]);
    expect((await get('case')).body.email).toBe('case1@example.com');
    expect((await get('Case')).body.email).toBe('case2@example.com');
    expect((await get('CASE')).status).toBe(404);
  });

  it('rejects a taken login with 400', async () => {
    const { status, body } = await create({ login: 'user', email: 'another@example.com' });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'https://www.jhipster.tech/problem/login-already-used',
      message: 'error.userexists',
      params: 'userManagement',
    });
  });

  it.each([
    ['upper and lower case', 'Twin@example.com', 'tWIN@EXAMPLE.COM'],
    ['a ligature', 'ﬁsh@example.com', 'FISH@example.com'],
    ['a sharp s', 'straße@example.com', 'STRASSE@example.com'],
    ['a full-width letter', 'ｗide@example.com', 'wide@example.com'],
    ['a dotless i', 'ısland@example.com', 'island@example.com'],
    ['the Kelvin sign', '\u212Aelvin@example.com', 'kelvin@example.com'],
    ['a composed accent', 'r\u00E9mi@example.com', 're\u0301mi@example.com'],
  ])(
    'rejects an e-mail address that differs from a taken one only in %s',
    async (difference, first, second) => {
      const login = difference.replaceAll(' ', '-');
      const original = await create({ login, email: first });

      const { status, body } = await create({ login: `${login}.2`, email: second });

      expect([original.status, status]).toEqual([201, 400]);
      expect(body).toMatchObject({
        type: 'https://www.jhipster.tech/problem/email-already-used',
        message: 'error.emailexists',
      });
    },
  );

  it('reports the login when both login and e-mail address are taken', async () => {
    const { body } = await create({ login: 'user', email: 'admin@example.com' });

    expect(body.message).toBe('error.userexists');
  });

  it.each([undefined, '', null])('sets no password for the value %j', async (password) => {
    const login = `keyless-${password}`;

    const { status, body } = await create({ login, email: `${login}@example.com`, password });

    expect(status).toBe(201);
    expect(await stored(body.id)).not.toHaveProperty('passwordHash');
  });

  it.each([
    [4, 'abcd'],
    [100, '🔑'.repeat(100)],
  ])('allows login with a password of %i characters', async (length, password) => {
    const login = `key-${length}`;

    await create({ login, email: `${login}@example.com`, password });

    await gatehouse.logIn(login, password);
  });
});

describe('reading a user', () => {
  it('matches the login exactly', async () => {
    const { status, body } = await get('user');

    expect(status).toBe(200);
    expect(body).toMatchObject({
      login: 'user',
      email: 'user@example.com',
      authorities: ['ROLE_USER'],
    });
    for (const other of ['User', 'use', 'user@example.com', 'no such'])
      expect((await get(other)).status).toBe(404);
  });

  it('returns the list of roles only to administrators', async () => {
    const users = await gatehouse.tokenOf('user');

    const shown = await get('authorities');
    const rejected = await get('authorities', users);

    expect(shown.body).toEqual(['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST']);
    expect(rejected.status).toBe(403);
  });

  it.each(['!$&*+', '=^_{|}~', '.@-`', '...', 'a+b', 'x@y.z'])(
    'finds the login %s under its percent-encoded path',
    async (login) => {
      const { body, headers } = await create({
        login,
        email: `${login.length}${login.replaceAll('@', '#')}@example.com`,
      });

      const found = await gatehouse.call('GET', headers.location ?? '', {
        token: await gatehouse.tokenOf('user'),
      });
      const removed = await remove(login);

      expect(found.body).toEqual(body);
      expect(removed.headers['x-gatehouseapp-params']).toBe(encodeURIComponent(login));
      expect((await get(login)).status).toBe(404);
    },
  );

  it('keeps a plus sign in the path', async () => {
    const token = await gatehouse.tokenOf('user');
    await create({ login: 'plus@a+b', email: 'plus@example.com' });

    const paths = ['plus%40a%2Bb', 'plus@a+b', 'plus@a%20b'];
    const responses = await Promise.all(
      paths.map((path) => gatehouse.call('GET', `/api/users/${path}`, { token })),
    );

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 404]);
  });
});

describe('deleting a user', () => {
  it('returns no body, and the user can no longer be read', async () => {
    await create({ login: 'leaver', email: 'leaver@example.com' });
    const before = await total();

    const { status, text, headers } = await remove('leaver');

    expect({ status, text }).toEqual({ status: 200, text: '' });
    expect(headers).toMatchObject({
      'x-gatehouseapp-alert': 'userManagement.deleted',
      'x-gatehouseapp-params': 'leaver',
    });
    expect((await get('leaver')).status).toBe(404);
    expect(await total()).toBe(before - 1);
  });

  it('matches the case of the login', async () => {
    const { status, body } = await remove('USER');

    expect({ status, message: body.message }).toEqual({ status: 404, message: 'error.http.404' });
    expect((await get('user')).status).toBe(200);
  });

  it('releases the login and e-mail address, but not the id', async () => {
    const first = await create({ login: 'phoenix', email: 'phoenix@example.com' });
    await remove('phoenix');

    const second = await create({ login: 'phoenix', email: 'phoenix@example.com' });

    expect(second.status).toBe(201);
    expect(second.body.id).toBeGreaterThan(first.body.id);
  });
});
