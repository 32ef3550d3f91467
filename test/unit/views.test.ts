import { describe, expect, it } from 'vitest';
import { anonymous, auditEntry } from '../../lib/audit/audit-entry.ts';
import { auditView, entryOf } from '../../lib/audit/read-audits.ts';
import { pick, viewOf } from '../../lib/contract/entity-fields.ts';
import { Failure } from '../../lib/contract/failure.ts';
import {
  type Integration,
  integrationView,
  moduleView,
} from '../../lib/integrations/integration.ts';
import { parameterView } from '../../lib/integrations/parameter.ts';
import { health } from '../../lib/status/health.ts';
import { administratorView, type User, userView } from '../../lib/users/user.ts';
import { awsError } from '../support/doubles/aws-errors.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';

const INTEGRATION: Integration = {
  id: 7,
  name: 'Gate',
  shortName: 'gate',
  description: 'Doors',
  integrationType: 'API',
  active: false,
  parameterCount: 1,
  parametersEver: 2,
  parameterBytes: 3,
  version: '4-a',
  revision: 5,
  moduleRevision: 5,
};

describe('a user', () => {
  const required: User = {
    id: 7,
    login: 'ada',
    email: 'ada@example.com',
    activated: false,
    langKey: 'de',
    authorities: ['ROLE_USER'],
    createdBy: 'a',
    createdDate: '2026-01-01',
    lastModifiedBy: 'b',
    lastModifiedDate: '2026-01-02',
    version: '1-a',
    incarnation: 's',
    securityStamp: 'r',
    passwordChanges: 3,
  };
  const secrets = {
    passwordHash: 'h',
    tokenExcepted: 't',
    sessionEndings: 2,
    sessionsEnded: new Set(['9-t']),
    lastLogin: '2026-01-03',
    secondFactor: { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'm', recoveryCodes: 1023 },
    pendingFactor: { nonce: 'p', session: 's', expires: 9 },
  };

  it('is shown with every field that is not secret', () => {
    const person = { firstName: 'Ada', lastName: 'L', imageUrl: '/a.png' };

    expect(userView({ ...required, ...person, ...secrets } as User)).toEqual({
      id: 7,
      login: 'ada',
      email: 'ada@example.com',
      activated: false,
      langKey: 'de',
      authorities: ['ROLE_USER'],
      createdBy: 'a',
      createdDate: '2026-01-01',
      lastModifiedBy: 'b',
      lastModifiedDate: '2026-01-02',
      ...person,
    });
  });

  it('is shown to administrators with its last login and whether it has a second factor', () => {
    const { lastLogin } = secrets;

    expect(administratorView({ ...required, lastLogin })).toEqual({
      ...userView(required),
      lastLogin,
      secondFactor: false,
    });
    expect(administratorView(required).lastLogin).toBeNull();
    expect(administratorView({ ...required, ...secrets } as User).secondFactor).toBe(true);
  });
});

describe('an integration', () => {
  it('has null for an absent description and an absent module', () => {
    const { description: _none, ...others } = INTEGRATION;

    expect(integrationView(others)).toMatchObject({ description: null, module: null });
    expect(moduleView(INTEGRATION)).toBeNull();
    expect(moduleView({ ...INTEGRATION, module: { needsRestart: false, changes: 1 } })).toEqual({
      needsRestart: false,
      changes: 1,
    });
  });
});

describe('a parameter', () => {
  const stored = { id: 7_000_001, confName: 'key', confValue: 'v', version: '1-a', sealed: 'x' };

  it('has null for an absent description and an absent module', () => {
    expect(
      parameterView({ ...stored, confDescription: undefined, integration: INTEGRATION }),
    ).toMatchObject({
      confDescription: null,
      integration: { module: null },
    });
  });
});

it('an audit entry without changes is shown as stored, without its expiry', () => {
  const entry = {
    id: 'i',
    time: 't',
    actor: 'ada',
    actorId: 7,
    action: 'user.created',
    target: 'user/8',
    targetName: 'bob',
    fields: ['email'],
  };

  expect(auditView(entryOf({ pk: 'AUDIT#', sk: 't#i', ...entry, expires: 9 }))).toEqual({
    ...entry,
    changes: [],
    integrationId: null,
    integrationName: null,
    session: null,
    source: null,
    count: null,
  });
});

it.each([
  ['user/8', undefined, {}],
  ['integration/7', undefined, { integrationId: 7, integrationName: 'bob' }],
  ['parameter/7000003', 'Gate', { integrationId: 7, integrationName: 'Gate' }],
] as const)(
  'an entry about %s of the integration %s names it',
  (target, integrationName, named) => {
    const event = { action: 'user.created', target, targetName: 'bob', changes: [] } as const;
    const { key, attributes } = auditEntry(
      anonymous('192.0.2.1'),
      { ...event, ...(integrationName && { integrationName }) },
      0,
    );

    expect(entryOf({ ...key, ...attributes })).toStrictEqual({
      ...attributes,
      ...named,
      added: [],
      removed: [],
    });
    expect(Object.hasOwn(attributes ?? {}, 'integrationName')).toBe(integrationName !== undefined);
  },
);

describe('health', () => {
  it('is unavailable when the table does not exist', async () => {
    const missing = awsError('ResourceNotFoundException');
    const get = () => Promise.reject(missing);

    await expect(health({ ...memoryTable(), get })).rejects.toEqual(new Failure('unavailable'));
  });
});

it('a view has the listed fields only, null for absent ones, and keeps false, 0 and ""', () => {
  const entity = { a: 0, b: false, c: '', d: undefined, secret: 's' };

  expect(viewOf(entity, { d: {}, c: {}, b: {}, a: {} })).toEqual({
    a: 0,
    b: false,
    c: '',
    d: null,
  });
});

it('picking keeps a present field that is undefined, and adds no absent one', () => {
  const change: { a?: string | undefined; b?: string; c?: string } = { a: undefined, c: 'x' };

  expect(Object.keys(pick(change, ['a', 'b']))).toEqual(['a']);
});
