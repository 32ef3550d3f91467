import { KMSClient } from '@aws-sdk/client-kms';
import { auditEntry, operator } from '../../lib/audit/audit-entry.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { createFirstAdministrator } from '../../lib/operations/administrators/first-administrator.ts';
import { openHasher } from '../../lib/passwords/hasher.ts';
import { settleAll } from '../../lib/runtime/waiting.ts';
import { commitWithRetries } from '../../lib/table/change.ts';
import { newAccount } from '../../lib/users/create-user.ts';
import { auditEventFor, creation, userChanges } from '../../lib/users/user-table.ts';
import type { Cloud } from './cloud.ts';
import { OPERATOR, operatorsTable } from './state/operator.ts';
import type { State } from './state/state.ts';

const DONE = 'first-accounts';

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
  const [id, passwordHash] = await settleAll([table.nextId('USER'), hasher.hash('user')]);
  const person = {
    login: 'user',
    email: 'user@example.com',
    firstName: 'User',
    lastName: 'User',
    activated: true,
    langKey: 'en',
    authorities: ['ROLE_USER'],
  } as const;
  await commitWithRetries(table, (now) => {
    const user = newAccount({ ...person, id, passwordHash }, 'admin', now);
    const event = auditEventFor('user.created', user, userChanges(undefined, user));
    return [...creation(user), auditEntry(operator('first-admin'), event, now)];
  }).catch(whenTaken);
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
