import { describe, expect, it } from 'vitest';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, get, remove, total, stored } = useUsers(gatehouse);

const RANDOM = /^[\w-]{16}$/;

describe('creating a user', () => {
  it('requires only a login and an address, and stores only fields of the contract', async () => {
    const ignored = {
      passwordHash: 'x',
      version: 99,
      createdBy: 'mallory',
      pk: 'ADMINS',
      extra: 1,
    };
    const required = { login: 'a&b=c', email: 'Plain@example.com' };

    const { status, body, headers } = await create({ ...required, ...ignored });

    expect(status).toBe(201);
    expect(headers).toMatchObject({
      location: '/api/users/a%26b%3Dc',
      'x-gatehouseapp-params': 'a%26b%3Dc',
    });
    const { id, createdDate } = body;
    expect(Math.abs(Date.now() - Date.parse(createdDate))).toBeLessThan(60_000);
    const fields = {
      id,
      ...required,
      activated: true,
      langKey: 'en',
      authorities: [],
      createdBy: 'admin',
      createdDate,
      lastModifiedBy: 'admin',
      lastModifiedDate: createdDate,
    };
    expect(body).toEqual({
      ...fields,
      firstName: null,
      lastName: null,
      imageUrl: null,
      lastLogin: null,
      secondFactor: false,
      state: 'invited',
      invitedUntil: new Date(Date.parse(createdDate) + 86_400_000).toISOString(),
      tokensExpire: null,
    });
    expect(await stored(id)).toEqual({
      ...entityKey('USER', id),
      ...fields,
      invitedAt: createdDate,
      // Random, so that no ETag names another user with the same id, which a restore can cause.
      version: expect.stringMatching(/^1-[\da-f-]{36}$/),
      incarnation: expect.stringMatching(RANDOM),
      securityStamp: expect.stringMatching(RANDOM),
      passwordChanges: 0,
    });
  });

  it('rejects the id of a client with 400', async () => {
    const { status, body, headers } = await create({ id: 102, login: 'chosen', email: 'c@b.c' });

    expect(body).toMatchObject({ status, path: '/api/users', message: 'error.idexists' });
    expect(status).toBe(400);
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'x-gatehouseapp-error': 'error.idexists',
      'x-gatehouseapp-params': 'userManagement',
    });
    expect((await get('chosen')).status).toBe(404);
  });

  it.each([
    ['login', { login: 'user', email: 'another@example.com' }, 'login', 'error.userexists'],
    ['login of the service', { login: 'SYSTEM', email: 's@b.c' }, 'login', 'error.userexists'],
    [
      'address',
      { login: 'another', email: 'ADM\u0131N@example.com' },
      'email',
      'error.emailexists',
    ],
  ])('rejects a taken %s with 400', async (_, taken, type, message) => {
    const { status, body } = await create(taken);

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: `https://www.jhipster.tech/problem/${type}-already-used`,
      message,
      params: 'userManagement',
    });
  });

  it('treats logins that differ only in case as distinct', async () => {
    const { status } = await create({ login: 'USER', email: 'case@example.com' });

    expect(status).toBe(201);
    expect((await get('USER')).body.email).toBe('case@example.com');
    expect((await get('User')).status).toBe(404);
    await remove('USER');
    expect((await get('user')).status).toBe(200);
  });
});

describe('reading a user', () => {
  it.each(['!$&*+', '=^_{|}~', '.@-`', '...', 'x@y+z'])(
    'finds the login %s under its percent-encoded path',
    async (login) => {
      const email = `${login.length}${login.replaceAll('@', '#')}@example.com`;
      const { body, headers } = await create({ login, email });
      const token = await gatehouse.tokenOf('user');

      const found = await gatehouse.call('GET', headers.location ?? '', { token });
      const removed = await remove(login);

      // Only administrators see more.
      expect(body).toMatchObject(found.body);
      expect(Object.keys(found.body)).not.toContain('state');
      expect(removed.headers['x-gatehouseapp-params']).toBe(encodeURIComponent(login));
      expect((await get(login)).status).toBe(404);
    },
  );

  it('keeps a plus sign in the path', async () => {
    const token = await gatehouse.tokenOf('user');
    await create({ login: 'plus@a+b', email: 'plus@example.com' });

    const paths = ['plus@a+b', 'plus@a%20b'];
    const responses = await Promise.all(
      paths.map((path) => gatehouse.call('GET', `/api/users/${path}`, { token })),
    );

    expect(responses.map(({ status }) => status)).toEqual([200, 404]);
  });
});

describe('deleting a user', () => {
  it('releases the login and the address, but not the id', async () => {
    const phoenix = { login: 'phoenix', email: 'phoenix@example.com' };
    const first = await create(phoenix);
    const before = await total();

    expect((await remove('phoenix')).status).toBe(200);

    expect((await get('phoenix')).status).toBe(404);
    expect(await total()).toBe(before - 1);
    expect((await create(phoenix)).body.id).toBeGreaterThan(first.body.id);
  });

  it('rejects an unknown login with 404', async () => {
    const { status, body } = await remove('nobody');

    expect({ status, message: body.message }).toEqual({ status: 404, message: 'error.http.404' });
  });
});
