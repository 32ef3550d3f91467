import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { ROLES } from '../../lib/contract/contract.ts';
import { routes } from '../../routes.ts';

const contractOf = (name: string) => routes.find(({ route }) => route === name)?.contract;

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
