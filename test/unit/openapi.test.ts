import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { openApiText } from '../../infra/api-document/document.ts';
import { EXAMPLES } from '../../infra/api-document/examples.ts';
import { filterSchemas, parametersOf } from '../../infra/api-document/parameters.ts';
import { EDGE_REJECTION } from '../../infra/settings/edge.ts';
import { type Access, type Contract, ROLES } from '../../lib/contract/contract.ts';
import { type ListRules, listQuery } from '../../lib/contract/list-query.ts';
import { routes } from '../../routes.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { checkResponse } from '../support/instance/api-document.ts';

it('openapi.json is current: npm run update updates it', () =>
  expect(openApiText()).toMatchFileSnapshot('../../openapi.json'));

it('every route has an example', () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(routes.map(({ route }) => route).toSorted());
});

it('every body of a link is an expression: generators of Java clients reject any other', () => {
  const bodies: unknown[] = [];
  JSON.parse(openApiText(), (key, value) => {
    if (key === 'links')
      bodies.push(
        ...Object.values<{ requestBody?: unknown }>(value).map((link) => link.requestBody),
      );
    return value;
  });

  expect(
    bodies.filter(
      (body) => body !== undefined && !/^\$response\.body(#\/\w+)?$/.test(String(body)),
    ),
  ).toEqual([]);
});

it.each(routes.map(({ route }) => route))(
  'the 429 of API Gateway and of an edge are in the document: %s',
  (route) => {
    const check = (body: object, headers: object) => {
      const received = { status: 429, headers: { 'content-type': 'application/json', ...headers } };
      checkResponse(route, { ...received, body, text: JSON.stringify(body) });
    };

    check({ message: 'Too Many Requests' }, {});
    check(EDGE_REJECTION.body, { 'retry-after': '300' });
  },
);

it('every alternative has a type, because generators of Java clients fail without one', () => {
  const alternatives: Record<string, unknown>[] = [];
  JSON.parse(openApiText(), (key, value) => {
    if (key === 'anyOf') alternatives.push(...value);
    return value;
  });

  expect(alternatives.length).toBeGreaterThan(0);
  expect(alternatives.filter((schema) => !schema.type && !schema.$ref)).toEqual([]);
});

/* The patterns of openapi.json accept exactly what the service accepts. */

const query = listQuery({ id: 'number', name: 'text', made: 'date' });
const parameters = parametersOf(
  {
    tag: 'Status',
    summary: '',
    access: 'public',
    entityName: 'audit',
    query,
    headers: ['Link'],
  },
  {},
);

function patternOf(parameter: string): RegExp {
  const { schema } = parameters.find(({ name }) => name === parameter) ?? {};
  const isDate = JSON.stringify(schema) === '{"$ref":"#/components/schemas/FilterDate"}';
  const resolved = isDate ? filterSchemas().FilterDate : schema;
  const { pattern, items } = resolved as { pattern?: string; items?: { pattern: string } };
  return new RegExp(pattern ?? items?.pattern ?? 'no pattern', 'u');
}
const accepted = (value: string): [string, boolean] => [value, true];
const rejected = (value: string): [string, boolean] => [value, false];
const isAccepted = (parameter: string, value: string): boolean =>
  v.safeParse(query, { [parameter]: [value] }).success;

const SORT: [string, boolean][] = [
  ...['', ',', 'ignorecase', 'ignoreCase,id', 'id', 'desc', 'id,DESC', 'id, desc'].map(accepted),
  ...[' name ,id,asc', 'id,Desc,ignoreCase,'].map(accepted),
  ...['ID', 'desc,id', 'asc,desc', 'id desc', 'id,descending', 'identity'].map(rejected),
];
const DATES: [string, boolean][] = [
  ...['2024-02-29', '2000-02-29', '0000-02-29', '2023-02-28', '2024-12-31'].map(accepted),
  ...['04-30T24:00', '01-01T24:00:00.0Z', '01-01T00:00+14:00', '01-01T23:59', '01-01 00:00']
    .concat('01-01T00:00:59.123000000-23:59', '01-01T23:59:59.0009Z', '01-01T23:59:59,1+0100')
    .concat('01-01T00:00-01')
    .map((text) => accepted(`2024-${text}`)),
  ...['2023-02-29', '1900-02-29', '2024-1-1', '20240101', 'now'].map(rejected),
  ...['02-30', '04-31', '13-01', '00-01', '01-00', '01-32', '01-01T24:01', '01-01T24:00:00.1']
    .concat('01-01T23:60', '01-01T23:59:60', '01-01T00:00+24:00', '01-01T00:00+00:60')
    .concat('01-01Z', '01-01t00:00z')
    .map((text) => rejected(`2024-${text}`)),
];
it.each([
  ['sort', SORT],
  ['made.equals', DATES],
])('the pattern of %s accepts what the service accepts', (parameter, cases) => {
  const pattern = patternOf(parameter);

  expect(cases.map(([value]) => [value, pattern.test(value)])).toEqual(cases);
  expect(cases.map(([value]) => [value, isAccepted(parameter, value)])).toEqual(cases);
});

/* Compares docs/api.md with the contracts. */

const guide = readFileSync(join(import.meta.dirname, '../../docs/api.md'), 'utf8');
const contractOf = (route: string) =>
  routes.find((row) => row.route === route)?.contract as Contract;

const admitsModule = (access: Access): boolean => typeof access === 'object' && !!access.module;

/**
 * What each request does, and who may make it: a caller without a token, with a token of a user
 * without a role, and with each role.
 */
function rolesTable(): string {
  const rows = routes.map(({ route, contract: { summary, access } }) => {
    const holders = typeof access === 'object' ? access.anyRole : ROLES;
    const allowed = [
      access === 'public',
      typeof access === 'string',
      ...ROLES.map((role) => holders.includes(role)),
      access === 'public' || admitsModule(access),
    ];
    const marks = allowed.map((isAllowed) => (isAllowed ? 'yes' : '')).join(' | ');
    return `| \`${route}\` | ${summary} | ${marks} |`;
  });
  const roles = ROLES.map((role) => `\`${role}\``).join(' | ');
  return [
    `| request | | no token | no role | ${roles} | its module |`,
    `|---|---|---|---|${'---|'.repeat(ROLES.length + 1)}`,
    ...rows,
  ].join('\n');
}

function filtersTable(): string {
  const rows = routes.flatMap(({ route, contract: { query, scim } }) => {
    if (!query || scim || route.endsWith('/count')) return [];
    const { fields, sortable } = v.getMetadata(query).list as ListRules;
    const filtersOnly = Object.keys(fields).filter((field) => !sortable.includes(field));
    return [`| \`${route}\` | ${sortable.join(', ')} | ${filtersOnly.join(', ')} |`];
  });
  return [
    '| list | fields to filter and sort by | fields to filter by only |',
    '|---|---|---|',
    ...rows,
  ].join('\n');
}

it('the tables of roles and filters are current; -u updates them', () =>
  expect(
    withGenerated(guide, { roles: rolesTable(), filters: filtersTable() }),
  ).toMatchFileSnapshot('../../docs/api.md'));

it('the document explains each message of the API document, and no other', () => {
  const cells = guide.match(/^\| `error\.[^|]*\|/gm) ?? [];
  const explained = cells.flatMap((cell) =>
    [...cell.matchAll(/`(error)?(\.[\w.]+)`/g)].map(
      ([, start, key]) => (start ? 'error' : 'error.http') + key,
    ),
  );
  const sent = [...openApiText().matchAll(/"message": "(error\.[\w.]+)"/g)].map(([, key]) => key);

  expect(explained.sort()).toEqual([...new Set(sent)].sort());
});

const examples = [...guide.matchAll(/`(GET \S+)` returns:\n\n```json\n(.*?)```/gs)];

it('the document has an example of each resource, which is valid', () => {
  for (const [, route = '', json = ''] of examples) {
    const { response } = contractOf(route);
    expect(v.parse(response as v.GenericSchema, JSON.parse(json))).toEqual(JSON.parse(json));
  }
  expect(examples.map(([, route]) => route)).toEqual([
    'GET /api/users/{login}',
    'GET /api/utm-integrations/{id}',
    'GET /api/utm-integration-confs/{id}',
  ]);
});

describe.each([
  ['Users', '/api/users', 'login'],
  ['Integrations', '/api/utm-integrations', 'id'],
  ['Parameters', '/api/utm-integration-confs', 'id'],
])('the table of %s', (title, path, id) => {
  const [create, update, get] = [`POST ${path}`, `PUT ${path}`, `GET ${path}/{${id}}`];
  const [, section = ''] = guide.split(`\n## ${title}\n`);
  const rows = section
    .slice(0, section.indexOf('\n## '))
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const namesIn = (cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
  const requiredBy = (column: number) =>
    rows
      .filter((cells) => cells[column]?.startsWith('required'))
      .flatMap(([, names]) => namesIn(names));

  const entriesOf = (schema: unknown) => Object.keys((schema as { entries: object }).entries);
  const missing = ({ body }: Contract) =>
    v.safeParse(body as v.GenericSchema, {}).issues?.map((issue) => v.getDotPath(issue) ?? '');

  it('lists every field', () => {
    const { body } = contractOf(create);
    const fields = new Set([...entriesOf(contractOf(get).response), ...entriesOf(body)]);

    const documented = rows.flatMap(([, names]) => namesIn(names)).toSorted();
    expect(documented, 'The table in docs/api.md').toEqual([...fields].toSorted());
  });

  it('states which fields a creation and an update require', () => {
    expect(requiredBy(3).toSorted()).toEqual(missing(contractOf(create))?.toSorted());
    expect(requiredBy(4).toSorted()).toEqual(missing(contractOf(update))?.toSorted());
  });
});
