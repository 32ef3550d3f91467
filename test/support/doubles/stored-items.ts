import type { Role } from '../../../lib/contract/contract.ts';
import type { Integration } from '../../../lib/integrations/integration.ts';
import { integrators } from '../../../lib/integrations/integration-contracts.ts';
import type { StoredParameter } from '../../../lib/integrations/parameter-table.ts';
import { authorize } from '../../../lib/sessions/authorize.ts';
import { sequenceKey, totalKey } from '../../../lib/table/item-kind.ts';
import { entityKey } from '../../../lib/table/keys.ts';
import type { Item, Table } from '../../../lib/table/table.ts';
import type { AuthorizedCaller } from '../../../lib/users/caller.ts';
import { type Session, sessionCounts, sessionKey } from '../../../lib/users/session-item.ts';
import type { User } from '../../../lib/users/user.ts';
import { emailGuardKey, loginGuardKey, rosterKey } from '../../../lib/users/user-items.ts';

/* Entities as the table stores them. */

/** An activated user as stored, with other fields. */
export const storedUser = (id: number, login: string, fields: Partial<User> = {}): User => ({
  id,
  login,
  email: `${login}@example.com`,
  activated: true,
  langKey: 'en',
  authorities: ['ROLE_USER'],
  createdBy: 'system',
  createdDate: '2026-01-01T00:00:00.000Z',
  lastModifiedBy: 'system',
  lastModifiedDate: '2026-01-01T00:00:00.000Z',
  version: '3-abc',
  incarnation: `${login}s`,
  securityStamp: 'reset',
  passwordHash: 'hash',
  passwordChanges: 0,
  ...fields,
});

/** A session of this user, as a log-in stores it. */
export const storedSession = (user: User, fields: Partial<Session> = {}): Session => ({
  jti: 'series',
  startedAt: '2030-01-01T00:00:00.000Z',
  expires: 1_893_459_600,
  ipAddress: '198.51.100.7',
  userAgent: 'curl/8.5.0',
  remembered: false,
  secondFactor: false,
  ...sessionCounts(user),
  ...fields,
});

/** The items of a user and a session, by which the user makes requests. */
export const itemsOfCaller = (user: User, fields?: Partial<Session>): Item[] => {
  const session = storedSession(user, fields);
  return [
    { ...entityKey('USER', user.id), ...user },
    { ...sessionKey({ id: user.id, jti: session.jti }), ...session },
  ];
};

export const GATE: Integration = {
  id: 5,
  name: 'Gate',
  shortName: 'gate',
  description: 'Doors',
  integrationType: 'API',
  active: true,
  parameterCount: 1,
  parametersEver: 3,
  parameterBytes: 100,
  version: '3-abc',
  revision: 8,
  moduleRevision: 7,
};
export const KEY: StoredParameter = {
  id: 5_000_002,
  confName: 'key',
  confValue: Buffer.from([1]),
  confDescription: 'Of the gate',
  bytes: 30,
  version: '2-xyz',
};

export const gate = (fields: Partial<Integration> = {}): Item => ({
  ...entityKey('INTEGRATION', 5),
  ...GATE,
  ...fields,
});
export const parameter = (fields: Partial<StoredParameter> = {}): Item => {
  const stored = { ...KEY, ...fields };
  return { ...entityKey('CONF', stored.id), ...stored };
};

/** The items of a caller with this role. */
export const callerWith = (role: Role, login = 'ada'): Item[] =>
  itemsOfCaller(storedUser(1, login, { authorities: [role] }));

/** The caller, where a role of integrators is required. */
export const asIntegrator = (table: Table): AuthorizedCaller =>
  authorize(table, { id: 1, jti: 'series', expires: 0, source: '192.0.2.1' }, integrators);

const intactUser = (id: number, login: string, email: string, authorities: Role[]): Item => {
  const fields = { email, authorities, version: `v${id}`, passwordChanges: 1 };
  const { passwordHash: _, ...user } = storedUser(id, login, fields);
  return { ...entityKey('USER', id), ...user };
};

/** Every kind of item that invariants span: three users, an integration, two parameters. */
export const INTACT_ITEMS: readonly Item[] = [
  intactUser(1, 'admin', 'admin@example.com', ['ROLE_ADMIN', 'ROLE_USER']),
  intactUser(2, 'user', 'user@example.com', ['ROLE_USER']),
  intactUser(3, 'alice', 'Älice@Example.com', ['ROLE_USER']),
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
