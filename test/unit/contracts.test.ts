import * as v from 'valibot';
import { expect, it } from 'vitest';
import { routes } from '../../routes.ts';

/* Which fields each list filters and sorts by, and its largest page, are in openapi.json. */

const HIDDEN = [
  'passwordHash',
  'confValue',
  'version',
  'revision',
  'securityStamp',
  'incarnation',
  'module',
  'pk',
];
const lists = routes.flatMap(({ route, contract: { query } }) => (query ? [{ route, query }] : []));

it.each(lists)('$route neither filters nor sorts by what it does not show', ({ query }) => {
  const accepted = HIDDEN.flatMap((field) => [
    [`${field}.specified`, 'true'],
    ['sort', field],
  ]).filter(([name = '', value]) => v.safeParse(query, { [name]: [value] }).success);

  expect(accepted).toEqual([]);
});
