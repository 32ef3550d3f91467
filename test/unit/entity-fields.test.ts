import { describe, expect, it } from 'vitest';
import { ROLES } from '../../lib/contract/contract.ts';
import { filterableFields, pick, viewOf } from '../../lib/contract/entity-fields.ts';
import {
  EDITABLE_INTEGRATION_FIELDS,
  INTEGRATION_FIELDS,
  INTEGRATION_TYPES,
} from '../../lib/integrations/integration.ts';
import { EDITABLE_USER_FIELDS, USER_FIELDS } from '../../lib/users/user.ts';

describe('the fields of a user', () => {
  it('that a request can set are these', () => {
    const names = [
      'login',
      'firstName',
      'lastName',
      'email',
      'imageUrl',
      'activated',
      'langKey',
      'authorities',
    ];

    expect(EDITABLE_USER_FIELDS).toEqual(names);
  });

  it('that lists sort and filter by are these', () => {
    expect(filterableFields(USER_FIELDS)).toEqual({
      id: 'number',
      login: 'text',
      firstName: 'text',
      lastName: 'text',
      email: 'text',
      activated: 'boolean',
      authorities: { oneOf: ROLES, asSet: true },
      langKey: 'text',
      createdBy: 'text',
      createdDate: 'date',
      lastModifiedBy: 'text',
      lastModifiedDate: 'date',
    });
  });
});

describe('the fields of an integration', () => {
  it('that a request can set are these', () => {
    expect(EDITABLE_INTEGRATION_FIELDS).toEqual([
      'name',
      'shortName',
      'description',
      'integrationType',
      'active',
    ]);
  });

  it('that lists sort and filter by are these', () => {
    expect(filterableFields(INTEGRATION_FIELDS)).toEqual({
      id: 'number',
      name: 'text',
      shortName: 'text',
      description: 'text',
      active: 'boolean',
      integrationType: { oneOf: INTEGRATION_TYPES },
    });
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
