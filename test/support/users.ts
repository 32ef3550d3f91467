import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect } from 'vitest';
import { OPERATOR } from '../../infra/local/cloud.ts';
import { entityKey, rosterKey } from '../../lib/table/keys.ts';
import { emailKey } from '../../lib/users/email-key.ts';
import type { Gatehouse } from './gatehouse.ts';

/** What an administrator does with users: as admin, unless a token is given. */
export function useUsers(gatehouse: Gatehouse) {
  let admin: string;
  beforeAll(async () => {
    admin = await gatehouse.logIn('admin');
  });
  const path = (login: string) => `/api/users/${encodeURIComponent(login)}`;
  return {
    create: (body: object, token = admin) => gatehouse.call('POST', '/api/users', { token, body }),
    update: (body: object, token = admin) => gatehouse.call('PUT', '/api/users', { token, body }),
    remove: (login: string, token = admin) => gatehouse.call('DELETE', path(login), { token }),
    get: (login: string, token = admin) => gatehouse.call('GET', path(login), { token }),
    list: (query = '?size=2000', token = admin) => gatehouse.call('GET', `/api/users${query}`, { token }),
    total: async () => Number((await gatehouse.call('GET', '/api/users', { token: admin })).headers['x-total-count']),
    stored: (id: number) => gatehouse.table.get(entityKey('USER', id)),
  };
}

/** Every user has a guard of login and one of e-mail, the roster names who administers, the total counts: no more, no less. */
export async function expectIntactUsers({ cloud, table }: Gatehouse): Promise<void> {
  const users = await table.query('USER');
  const { endpoint, region, tableName: TableName } = cloud;
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  const { Items = [], LastEvaluatedKey } = await DynamoDBDocumentClient.from(client).send(
    new ScanCommand({ TableName }),
  );
  client.destroy();

  const guards = Items.filter(({ sk }) => sk === 'GUARD').map(({ pk, id }) => `${pk} -> ${id}`);
  const owed = users.flatMap(({ id, login, email }) => [
    `LOGIN#${login} -> ${id}`,
    `EMAIL#${emailKey(email as string)} -> ${id}`,
  ]);
  const administrators = users.filter(
    ({ activated, authorities }) => activated && (authorities as string[]).includes('ROLE_ADMIN'),
  );
  const roster = (await table.get(rosterKey))?.ids as Set<number>;

  expect(LastEvaluatedKey, 'the whole table in one scan').toBeUndefined();
  expect(guards.sort()).toEqual(owed.sort());
  expect([...roster].sort()).toEqual(administrators.map(({ id }) => id).sort());
  expect(await table.total('USER')).toBe(users.length);
}
