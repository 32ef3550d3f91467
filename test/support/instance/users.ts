import { beforeAll } from 'vitest';
import { authenticator } from '../../../infra/commands/deploy/authenticator.ts';
import { entityKey } from '../../../lib/table/keys.ts';
import type { SharedGatehouse } from './gatehouse.ts';
import type { Gatehouse } from './launch.ts';

export function useUsers(gatehouse: Gatehouse) {
  let admin: string;
  beforeAll(async () => {
    admin = await gatehouse.adminToken();
  });
  const path = (login: string) => `/api/users/${encodeURIComponent(login)}`;
  return {
    create: (body: object, token = admin) => gatehouse.call('POST', '/api/users', { token, body }),
    update: (body: object, token = admin) => gatehouse.call('PUT', '/api/users', { token, body }),
    remove: (login: string, token = admin) => gatehouse.call('DELETE', path(login), { token }),
    get: (login: string, token = admin) => gatehouse.call('GET', path(login), { token }),
    list: (query = '?size=2000', token = admin) =>
      gatehouse.call('GET', `/api/users${query}`, { token }),
    total: async () =>
      Number(
        (await gatehouse.call('GET', '/api/users', { token: admin })).headers['x-total-count'],
      ),
    stored: (id: number) => gatehouse.table.get(entityKey('USER', id)),
  };
}

/** The tokens of admin and of analyst, whose role suffices for no change. */
export function useAdminAndAnalyst(gatehouse: SharedGatehouse) {
  const tokens = { admin: '', analyst: '' };
  beforeAll(async () => {
    tokens.admin = await gatehouse.adminToken();
    tokens.analyst = (
      await gatehouse.makeCaller('analyst', { authorities: ['ROLE_ANALYST'] })
    ).token;
  });
  return tokens;
}

/** Turns on the second factor of a user whose password is the login. */
export async function turnOnFactor(gatehouse: Gatehouse, login: string) {
  const token = await gatehouse.logIn(login);
  const post = (path: string, body: object) =>
    gatehouse.call('POST', `/api/account/second-factor${path}`, { token, body });
  const { body: enrolment } = await post('', { currentPassword: login });
  const { code } = authenticator(enrolment.secret);
  const { body } = await post('/confirm', { code: code() });
  return { token, code, recoveryCodes: body.recoveryCodes as readonly string[] };
}
