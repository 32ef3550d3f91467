import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { KMSClient } from '@aws-sdk/client-kms';
import { authorize } from '../../lib/authorization/authorize.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { openHasher } from '../../lib/passwords/hasher.ts';
import { openTable, type Table } from '../../lib/table/table.ts';
import { createUser } from '../../lib/users/create-user.ts';
import { createFirstAdministrator } from '../../lib/users/first-administrator.ts';
import { CreateUser } from '../../lib/users/user-contracts.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import type { Cloud } from './cloud.ts';
import { OPERATOR } from './state/operator.ts';
import type { State } from './state/state.ts';

const DONE = 'first-accounts';

/** Opens the table of a local cloud with the operator's credentials. */
export function operatorsTable({ endpoint, region, tableName }: Cloud): Table {
  return openTable(tableName, new DynamoDBClient({ endpoint, region, credentials: OPERATOR }));
}

/** Creates the accounts admin and user on the first start of a state. Returns whether it was the first. */
export async function createFirstAccounts(cloud: Cloud, state: State): Promise<boolean> {
  const { endpoint, region, pepperKeys } = cloud;
  const table = operatorsTable(cloud);
  const hasher = openHasher(pepperKeys, new KMSClient({ endpoint, region, credentials: OPERATOR }));

  const first = await createFirstAdministrator(table, hasher, {
    login: 'admin',
    email: 'admin@example.com',
    password: 'admin',
    // JHipster clients cannot save a user without both names.
    firstName: 'Administrator',
    lastName: 'Administrator',
  });
  if (!first && state.read(DONE)) return false;

  // A start that was killed may have created admin but not user.
  const admin = first ?? (await findUserByLogin(table, 'admin'));
  if (admin) {
    const { id, authorities: roles, accountStamp, passwordChanges } = admin;
    const caller = authorize(table, { id, roles, accountStamp, jti: DONE, passwordChanges }, CreateUser.access);
    await createUser(table, hasher, caller, {
      id: undefined,
      login: 'user',
      email: 'user@example.com',
      password: 'user',
      firstName: 'User',
      lastName: 'User',
      activated: true,
      langKey: 'en',
      authorities: ['ROLE_USER'],
    }).catch((error) => {
      if (!(error instanceof Failure && error.code === 'login-taken')) throw error;
    });
  }
  state.write(DONE, new Date().toISOString());
  return true;
}
