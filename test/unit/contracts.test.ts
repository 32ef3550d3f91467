import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { type Access, ROLES } from '../../lib/contract/contract.ts';
import type { FailureCode } from '../../lib/contract/failure.ts';
import { routes } from '../../routes.ts';

/*
 * The access, entity and failures of each route, stated a second time so that no slip in routes.ts
 * opens one.
 */

const ADMINISTRATORS: Access = { anyRole: ['ROLE_ADMIN'], rolesFrom: 'table' };
const INTEGRATORS: Access = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'], rolesFrom: 'table' };
const LONG: FailureCode[] = [
  'read-budget-spent',
  'list-too-long',
  'page-too-deep',
  'page-too-large',
];

const STATUS: [string, Access, FailureCode[]][] = [
  ['GET /.well-known/jwks.json', 'public', []],
  ['GET /api/health', 'public', []],
  ['GET /management/info', 'public', []],
  ['GET /api/openapi.json', 'public', []],
];
const USERS: [string, Access, FailureCode[]][] = [
  ['POST /api/authenticate', 'public', ['bad-credentials', 'too-many-attempts']],
  ['GET /api/account', 'authenticated', []],
  ['POST /api/account', 'authenticated', ['email-taken']],
  ['POST /api/account/change-password', 'authenticated', ['wrong-password', 'too-many-attempts']],
  ['POST /api/account/reset-password/init', 'public', ['too-many-attempts']],
  ['POST /api/account/reset-password/finish', 'public', ['unknown-key', 'too-many-attempts']],
  ['POST /api/users', ADMINISTRATORS, ['id-not-wanted', 'login-taken', 'email-taken']],
  [
    'PUT /api/users',
    ADMINISTRATORS,
    ['no-id', 'unknown-id', 'login-taken', 'email-taken', 'last-administrator', 'version-changed'],
  ],
  ['GET /api/users', 'authenticated', LONG],
  ['GET /api/users/authorities', { anyRole: ['ROLE_ADMIN'], rolesFrom: 'token' }, []],
  ['GET /api/users/{login}', 'authenticated', ['not-found', 'version-changed']],
  [
    'DELETE /api/users/{login}',
    ADMINISTRATORS,
    ['not-found', 'last-administrator', 'version-changed'],
  ],
];
const AUDITS: [string, Access, FailureCode[]][] = [
  [
    'GET /api/audits',
    ADMINISTRATORS,
    ['read-budget-spent', 'audit-list-too-long', 'page-too-large'],
  ],
];
const INTEGRATIONS: [string, Access, FailureCode[]][] = [
  ['POST /api/utm-integrations', INTEGRATORS, ['id-not-wanted']],
  ['PUT /api/utm-integrations', INTEGRATORS, ['no-id', 'unknown-id', 'version-changed']],
  ['GET /api/utm-integrations', 'authenticated', LONG],
  ['GET /api/utm-integrations/count', 'authenticated', ['read-budget-spent', 'list-too-long']],
  ['GET /api/utm-integrations/{id}', 'authenticated', ['not-found', 'version-changed']],
  [
    'DELETE /api/utm-integrations/{id}',
    INTEGRATORS,
    ['not-found', 'version-changed', 'read-budget-spent'],
  ],
  ['POST /api/utm-integrations/{id}/module/restarted', INTEGRATORS, ['not-found']],
];
const PARAMETERS: [string, Access, FailureCode[]][] = [
  [
    'POST /api/utm-integration-confs',
    INTEGRATORS,
    [
      'id-not-wanted',
      'unknown-id',
      'too-many-parameters',
      'parameters-too-large',
      'parameter-ids-used-up',
    ],
  ],
  [
    'PUT /api/utm-integration-confs',
    INTEGRATORS,
    ['no-id', 'unknown-id', 'version-changed', 'parameters-too-large', 'read-budget-spent'],
  ],
  [
    'GET /api/utm-integration-confs',
    INTEGRATORS,
    ['read-budget-spent', 'parameter-list-too-long', 'page-too-deep', 'page-too-large'],
  ],
  [
    'GET /api/utm-integration-confs/count',
    INTEGRATORS,
    ['read-budget-spent', 'parameter-list-too-long'],
  ],
  [
    'GET /api/utm-integration-confs/{id}',
    INTEGRATORS,
    ['not-found', 'version-changed', 'read-budget-spent'],
  ],
  [
    'DELETE /api/utm-integration-confs/{id}',
    INTEGRATORS,
    ['not-found', 'version-changed', 'read-budget-spent'],
  ],
];
const ROWS = [
  ...STATUS.map(([route, ...rest]) => [route, undefined, ...rest] as const),
  ...USERS.map(([route, ...rest]) => [route, 'userManagement', ...rest] as const),
  ...INTEGRATIONS.map(([route, ...rest]) => [route, 'utmIntegration', ...rest] as const),
  ...PARAMETERS.map(([route, ...rest]) => [route, 'utmIntegrationConf', ...rest] as const),
  ...AUDITS.map(([route, ...rest]) => [route, 'audit', ...rest] as const),
];

const contractOf = (name: string) => routes.find(({ route }) => route === name)?.contract;

it('routes.ts has exactly these routes', () => {
  expect(routes.map(({ route }) => route).toSorted()).toEqual(
    ROWS.map(([route]) => route).toSorted(),
  );
});

it.each(ROWS)(
  '%s is about %s, requires %j and can fail with %j',
  (route, entityName, access, failures) => {
    const contract = contractOf(route);

    expect([contract?.entityName, contract?.access]).toEqual([entityName, access]);
    expect((contract?.failures ?? []).toSorted()).toEqual(failures.toSorted());
  },
);

it('only the reset request takes a text body, the email address', () => {
  const inText = routes.filter(({ contract }) => contract.textAs !== undefined);

  expect(inText.map(({ route, contract }) => [route, contract.textAs])).toEqual([
    ['POST /api/account/reset-password/init', 'email'],
  ]);
});

it('the roles are administrator, user and analyst', () => {
  expect(ROLES).toEqual(['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST']);
});

describe('a list', () => {
  const USER_FIELDS = {
    id: 'number',
    login: 'text',
    firstName: 'text',
    lastName: 'text',
    email: 'text',
    activated: 'boolean',
    langKey: 'text',
    createdBy: 'text',
    createdDate: 'date',
    lastModifiedBy: 'text',
    lastModifiedDate: 'date',
    authorities: 'ROLE_ANALYST',
  };
  const INTEGRATION_FIELDS = {
    id: 'number',
    name: 'text',
    shortName: 'text',
    description: 'text',
    active: 'boolean',
    integrationType: 'COLLECTOR',
  };
  const PARAMETER_FIELDS = {
    id: 'number',
    confName: 'text',
    confDescription: 'text',
    integrationId: 'number',
  };
  const AUDIT_FIELDS = {
    time: 'date',
    actor: 'text',
    actorId: 'number',
    target: 'text',
    targetName: 'text',
    integrationId: 'number',
    integrationName: 'text',
    action: 'integration.restarted',
  };
  /**
   * For each type of field a value that only this type accepts. Any other type is the one value of
   * a closed list.
   */
  const VALUES: Record<string, string> = {
    number: '-7',
    boolean: 'true',
    date: '2026-01-31',
    text: 'a - b',
  };

  it.each([
    [
      'GET /api/users',
      USER_FIELDS,
      Object.keys(USER_FIELDS).filter((field) => field !== 'authorities'),
      2000,
    ],
    ['GET /api/utm-integrations', INTEGRATION_FIELDS, Object.keys(INTEGRATION_FIELDS), 2000],
    ['GET /api/utm-integrations/count', INTEGRATION_FIELDS, Object.keys(INTEGRATION_FIELDS), 2000],
    ['GET /api/utm-integration-confs', PARAMETER_FIELDS, Object.keys(PARAMETER_FIELDS), 100],
    ['GET /api/utm-integration-confs/count', PARAMETER_FIELDS, Object.keys(PARAMETER_FIELDS), 100],
    ['GET /api/audits', AUDIT_FIELDS, ['time'], 2000],
  ])(
    '%s filters by %j, sorts by %j and returns at most %i entries per page',
    (route, fields, sortable, largest) => {
      const query = contractOf(route)?.query as v.GenericSchema<
        unknown,
        { filters: unknown[]; size: number }
      >;
      const read = (name: string, value: string) => v.safeParse(query, { [name]: [value] });
      const secrets = [
        'passwordHash',
        'confValue',
        'version',
        'revision',
        'resetStamp',
        'accountStamp',
        'module',
        'pk',
      ];
      const filterable = [
        ...Object.keys(USER_FIELDS),
        ...Object.keys(INTEGRATION_FIELDS),
        ...secrets,
      ]
        .concat(Object.keys(PARAMETER_FIELDS), Object.keys(AUDIT_FIELDS))
        .filter((field, index, all) => all.indexOf(field) === index);

      const filtered = filterable.filter((field) => {
        const { success, output } = read(`${field}.specified`, 'true');
        return success && output.filters.length === 1;
      });
      const sorted = filterable.filter((field) => read('sort', field).success);
      const kinds = Object.keys(fields).map((field) => {
        const value = (fields as Record<string, string>)[field] ?? '';
        const taken = Object.entries({ ...VALUES, [value]: VALUES[value] ?? value }).filter(
          ([, text]) => read(`${field}.equals`, text).success,
        );
        return [
          field,
          taken.length === Object.keys(VALUES).length ? 'text' : taken.map(([kind]) => kind).join(),
        ];
      });

      expect(filtered.toSorted()).toEqual(Object.keys(fields).toSorted());
      expect(sorted.toSorted()).toEqual(sortable.toSorted());
      expect(Object.fromEntries(kinds)).toEqual(fields);
      expect(read('size', '9999').output).toMatchObject({ size: largest });
    },
  );
});
