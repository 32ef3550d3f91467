import * as v from 'valibot';
import type { Contract } from '../../lib/contract/contract.ts';
import {
  DEFAULT_SIZE,
  type FieldKind,
  type ListRules,
  operatorsOf,
} from '../../lib/contract/list-query.ts';
import { COUNT_MAX } from '../../lib/identities/scim-contracts.ts';
import type { Example } from './examples.ts';
import { jsonSchemaOf } from './schemas.ts';

/** The parameters that the contract declares. `examples` are the values of path parameters. */
export function parametersOf(
  { access, path, query: list, headers, failures, body, scim }: Contract,
  examples: Example['path'],
) {
  const { properties = {} }: { properties?: Record<string, object> } = path
    ? jsonSchemaOf(path)
    : {};
  const rules = list && (v.getMetadata(list).list as ListRules | undefined);
  return [
    ...Object.entries(properties).map(([name, schema]) => ({
      name,
      in: 'path',
      required: true,
      schema,
      example: examples?.[name],
    })),
    ...(scim && list ? SCIM_PARAMETERS : []),
    ...(rules && headers?.includes('Link') ? pageParameters(rules) : []),
    ...Object.entries(rules?.fields ?? {}).flatMap(([field, kind]) =>
      operatorsOf(kind).map((operator) => filterParameter(field, kind, operator)),
    ),
    ...(failures?.includes('version-changed') ? PRECONDITIONS : []),
    ...(typeof access === 'object' && access.module && !body ? [RUNNING] : []),
  ];
}

const query = (name: string, schema: object, description?: string) => ({
  name,
  in: 'query',
  description,
  schema,
});
const header = (name: string, description: string) => ({
  ...query(name, { type: 'string' }, description),
  in: 'header',
});

const RUNNING = header(
  'Gatehouse-Running',
  'What the module runs, with every poll: `16`, or `16;failed=17` if it could not apply 17 ' +
    '(RFC 9651).',
);

const PRECONDITIONS = [
  header(
    'If-Match',
    'The ETag that the entity must have; in any other state the request fails with 412. ' +
      'Without it, the last write wins.',
  ),
  header(
    'If-None-Match',
    'ETags that the entity must not have, or `*`. If it has one of them, a read returns 304, ' +
      'and a change fails with 412.',
  ),
];

const lenient = (minimum: number, value: number) => ({
  anyOf: [{ type: 'integer', minimum, default: value }, { type: 'string' }],
});

const SCIM_PARAMETERS = [
  query(
    'filter',
    { type: 'string' },
    'Only `userName eq "…"`: the user with this login, or else with this address.',
  ),
  query('startIndex', lenient(1, 1), 'The first user of a page, from 1.'),
  query('count', lenient(0, COUNT_MAX), 'Users per page.'),
];

function pageParameters({ sortable, pageSizeMax }: ListRules) {
  return [
    query('page', lenient(0, 0), 'The page, from 0. Any other value means 0.'),
    query(
      'size',
      lenient(1, DEFAULT_SIZE),
      `Entities per page. Greater values mean ${pageSizeMax}; anything but a positive ` +
        `integer means ${DEFAULT_SIZE}.`,
    ),
    query(
      'sort',
      { type: 'array', items: { type: 'string', pattern: sortPattern(sortable) } },
      'One field or several, then `asc` (the default) or `desc`, then `ignorecase` to ' +
        `ignore the case of texts; for example \`${sortable[0]},desc\`. Can be repeated.`,
    ),
  ];
}

function filterParameter(field: string, kind: FieldKind, operator: string) {
  const name = `${field}.${operator}`;
  if (operator === 'specified') return query(name, { type: 'boolean' });
  return operator === 'in' || operator === 'notIn'
    ? { ...query(name, valuesSchema(kind)), explode: false }
    : query(name, valueSchema(kind));
}

const filterSchema = (name: string) => ({ $ref: `#/components/schemas/Filter${name}` });
const several = (items: object) => ({ type: 'array', items, minItems: 1 });

function valuesSchema(kind: FieldKind): object {
  if (kind === 'number') return filterSchema('Numbers');
  if (kind === 'date') return filterSchema('Dates');
  return kind === 'text' ? filterSchema('Texts') : several(valueSchema(kind));
}

function valueSchema(kind: FieldKind): object {
  if (typeof kind === 'object') return { enum: kind.oneOf };
  if (kind === 'number') return filterSchema('Number');
  if (kind === 'date') return filterSchema('Date');
  return { type: kind === 'boolean' ? 'boolean' : 'string' };
}

const LEAP_YEAR = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DAY_OF_ANY_YEAR =
  '(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|' +
  '(?:0[13578]|1[02])-31)';
const HOUR = '(?:[01][0-9]|2[0-3])';
const MIDNIGHT = '24:00(?::00(?:[.,]0+)?)?';
const TIME = `(?:${HOUR}:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?|${MIDNIGHT})`;
/** In UTC without a zone. (The UTC year must also be from 0 to 9999.) */
const DATE =
  `^(?:[0-9]{4}-${DAY_OF_ANY_YEAR}|${LEAP_YEAR}-02-29)` +
  `(?:[T ]${TIME}(?:Z|[+-]${HOUR}(?::?[0-5][0-9])?)?)?$`;

/** Fields, then a direction; `ignorecase` anywhere. Spaces and the case of words do not matter. */
function sortPattern(sortable: readonly string[]): string {
  const optional = (...words: string[]) => ` *(?:(?:${words.join('|')}) *)?`;
  const ignored = '[iI][gG][nN][oO][rR][eE][cC][aA][sS][eE]';
  const directions = ['[aA][sS][cC]', '[dD][eE][sS][cC]'];
  const last = optional(...sortable, ignored, ...directions);
  return `^(?:${optional(...sortable, ignored)},)*${last}(?:,${optional(ignored)})*$`;
}

export const filterSchemas = () => ({
  FilterDate: { type: 'string', pattern: DATE, examples: ['2026-11-22T09:30:00Z'] },
  FilterDates: several(filterSchema('Date')),
  FilterNumber: {
    type: 'integer',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  },
  FilterNumbers: several(filterSchema('Number')),
  FilterTexts: several({ type: 'string', pattern: '^[^,]*$' }),
});
