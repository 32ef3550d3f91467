import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { type Access, type Contract, ROLES } from '../../lib/contract/contract.ts';
import type { ListRules } from '../../lib/contract/list-query.ts';
import { routes } from '../../routes.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { checkContractOf } from '../support/instance/api-document.ts';

/* Compares docs/api.md with the contracts. */

const document = readFileSync(join(import.meta.dirname, '../../docs/api.md'), 'utf8');
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

/** The fields by which each list filters and sorts. */
function filtersTable(): string {
  const rows = routes.flatMap(({ route, contract: { query } }) => {
    if (!query || route.endsWith('/count')) return [];
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
    withGenerated(document, { roles: rolesTable(), filters: filtersTable() }),
  ).toMatchFileSnapshot('../../docs/api.md'));

const examples = [...document.matchAll(/`(GET \S+)` returns:\n\n```json\n(.*?)```/gs)];

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
  const [, section = ''] = document.split(`\n## ${title}\n`);
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
  /** The fields that an empty body lacks. */
  const missing = ({ body }: Contract) =>
    v.safeParse(body as v.GenericSchema, {}).issues?.map((issue) => v.getDotPath(issue) ?? '');

  it('lists every field', () => {
    const { body } = contractOf(create);
    const fields = new Set([...entriesOf(contractOf(get).response), ...entriesOf(body)]);

    expect(rows.flatMap(([, names]) => namesIn(names)).toSorted()).toEqual([...fields].toSorted());
  });

  it('states which fields a creation and an update require', () => {
    expect(requiredBy(3).toSorted()).toEqual(missing(contractOf(create))?.toSorted());
    expect(requiredBy(4).toSorted()).toEqual(missing(contractOf(update))?.toSorted());
  });
});

it('a response that differs from its contract fails with its route, status and field', () => {
  const schema = v.strictObject({ list: v.array(v.strictObject({ id: v.number() })) });
  const check = (body: unknown) => () => checkContractOf('GET /api/x 200', schema, body);

  expect(check({ list: [{ id: 1 }, { id: '2' }] })).toThrow(
    'GET /api/x 200: list.1.id: Invalid type: Expected number but received "2"',
  );
  expect(check([])).toThrow('GET /api/x 200: ');
  expect(check({ list: [] })).not.toThrow();
});
