import { sequenceKey, totalKey } from '../../../lib/table/counters.ts';
import { entityKey } from '../../../lib/table/keys.ts';
import type { Item } from '../../../lib/table/table.ts';
import { emailGuardKey, loginGuardKey, rosterKey } from '../../../lib/users/user-items.ts';

const audit = {
  createdBy: 'system',
  createdDate: 'then',
  lastModifiedBy: 'system',
  lastModifiedDate: 'then',
};
const user = (id: number, login: string, email: string, authorities: string[]): Item => ({
  ...entityKey('USER', id),
  id,
  login,
  email,
  authorities,
  activated: true,
  langKey: 'en',
  ...audit,
  version: `v${id}`,
  incarnation: `${login}s`,
  securityStamp: 'reset',
  passwordChanges: 1,
});

/**
 * A minimal intact table with every kind of item that invariants span: three users, an integration,
 * two parameters.
 */
export const INTACT_ITEMS: readonly Item[] = [
  user(1, 'admin', 'admin@example.com', ['ROLE_ADMIN', 'ROLE_USER']),
  user(2, 'user', 'user@example.com', ['ROLE_USER']),
  user(3, 'alice', 'Älice@Example.com', ['ROLE_USER']),
  { ...loginGuardKey('admin'), id: 1 },
  { ...loginGuardKey('user'), id: 2 },
  { ...loginGuardKey('alice'), id: 3 },
  { ...emailGuardKey('admin@example.com'), id: 1 },
  { ...emailGuardKey('user@example.com'), id: 2 },
  { ...emailGuardKey('älice@example.com'), id: 3 },
  { ...rosterKey, ids: new Set([1]) },
  {
    ...entityKey('INTEGRATION', 4),
    id: 4,
    name: 'Gate',
    shortName: 'gate',
    integrationType: 'API',
    active: true,
    parameterCount: 2,
    parametersEver: 9,
    parameterBytes: 30,
    version: 'g',
    revision: 6,
    moduleRevision: 5,
  },
  { ...entityKey('CONF', 4_000_007), id: 4_000_007, confName: 'url', version: 'p', bytes: 10 },
  { ...entityKey('CONF', 4_000_009), id: 4_000_009, confName: 'key', version: 'q', bytes: 20 },
  { ...sequenceKey('USER'), n: 3 },
  { ...sequenceKey('INTEGRATION'), n: 4 },
  { ...totalKey('USER'), n: 3, changes: 3 },
  { ...totalKey('INTEGRATION'), n: 1, changes: 5 },
  { ...totalKey('CONF'), n: 2, changes: 2 },
];
