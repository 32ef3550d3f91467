import { KMSClient } from '@aws-sdk/client-kms';
import { authorize } from '../../lib/authorization/authorize.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { createFirstAdministrator } from '../../lib/operations/administrators/first-administrator.ts';
import { openHasher } from '../../lib/passwords/hasher.ts';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';
import { createUser } from '../../lib/users/create-user.ts';
import { CreateUser } from '../../lib/users/user-contracts.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import type { Cloud } from './cloud.ts';
import { OPERATOR, operatorsTable } from './state/operator.ts';
import type { State } from './state/state.ts';

const DONE = 'first-accounts';

/** The passwords of these accounts are their logins, whatever the settings require. */
const ANY_PASSWORD = openPasswordPolicy({ minimum: 1, rejectCommon: false });

/** Creates admin and user on the first start of a state. Returns the lines to print. */
export async function createFirstAccounts(cloud: Cloud, state: State): Promise<string[]> {
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
  }).catch(whenTaken);
  // An administrator who was deactivated by hand keeps the login.
  if (first === 'taken') return [howToCreateAdministrator(cloud)];
  if (!first && state.read(DONE)) return [];

  // A start that was killed may have created admin but not user.
  const admin = first ?? (await findUserByLogin(table, 'admin'));
  if (admin) {
    const { id, incarnation, passwordChanges, sessionEndings = 0 } = admin;
    const token = { jti: DONE, expires: 0, incarnation, passwordChanges, sessionEndings };
    const caller = authorize(table, { id, source: '127.0.0.1', ...token }, CreateUser.access);
    await createUser({ table, hasher, policy: ANY_PASSWORD }, caller, {
      id: undefined,
      login: 'user',
      email: 'user@example.com',
      password: 'user',
      firstName: 'User',
      lastName: 'User',
      activated: true,
      langKey: 'en',
      authorities: ['ROLE_USER'],
    }).catch(whenTaken);
  }
  state.write(DONE, new Date().toISOString());
  return [
    'First start: created the accounts admin (password admin; ROLE_ADMIN and ROLE_USER)',
    '             and user (password user; ROLE_USER)',
  ];
}

function whenTaken(error: unknown): 'taken' {
  if (error instanceof Failure && (error.code === 'login-taken' || error.code === 'email-taken'))
    return 'taken';
  throw error;
}

const howToCreateAdministrator = ({ endpoint, region, tableName }: Cloud): string =>
  'Nobody is an administrator, and the login admin or its address is taken; this creates an ' +
  'administrator: ' +
  `env -u AWS_PROFILE AWS_ACCESS_KEY_ID=${OPERATOR.accessKeyId} ` +
  `AWS_SECRET_ACCESS_KEY=${OPERATOR.secretAccessKey} AWS_ENDPOINT_URL=${endpoint} ` +
  `AWS_REGION=${region} npm run admin -- first-admin --table ${tableName} ` +
  '--login LOGIN --email ADDRESS';
