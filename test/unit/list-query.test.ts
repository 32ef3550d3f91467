import { isMainThread } from 'node:worker_threads';
import * as v from 'valibot';
import { describe, expect, it, vi } from 'vitest';
import { limitsOf } from '../../lib/contract/fields.ts';
import {
  cursorAfter,
  type Filter,
  type ListQuery,
  listQuery,
  type Order,
} from '../../lib/contract/list-query.ts';
import { matcherOf, sorted } from '../../lib/contract/selection.ts';
import { cpuMsOf } from '../support/doubles/time.ts';

const FIELDS = {
  id: 'number',
  name: 'text',
  active: 'boolean',
  made: 'date',
  colour: { oneOf: ['RED', 'BLUE'] },
  tags: { oneOf: ['HOT', 'COLD'], asSet: true },
  words: 'search',
} as const;

type Options = Parameters<typeof listQuery<number>>[1];

function safeParse(text: string, options?: Options) {
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text))
    values[name] = [...(values[name] ?? []), value];
  return v.safeParse(listQuery(FIELDS, options), values);
}
/** The parsed query, or the names of the invalid parameters. */
function parse(text: string, options?: Options): ListQuery | string[] {
  const { success, output, issues } = safeParse(text, options);
  if (success) return output;
  expect(issues.map(({ message }) => message)).toEqual(issues.map(() => 'Pattern'));
  return issues.map((issue) => v.getDotPath(issue) ?? '');
}
const read = (text: string, options?: Options): ListQuery => parse(text, options) as ListQuery;
const invalid = (text: string, options?: Options): string[] => parse(text, options) as string[];
const matches = (entity: object, filter: Filter): boolean => matcherOf([filter])(entity);
const filtersOf = (text: string) =>
  read(text).filters.map(({ field, operator, operands }) => [field, operator, ...operands]);

const LIST_PARAMETERS = ['cursor', 'page', 'size', 'sort'];
const FIELD_NAMES = Object.keys(FIELDS).toSorted();

it.each([
  ['sort[0]=id', LIST_PARAMETERS],
  ['Size=1', LIST_PARAMETERS],
  ['Name=x', FIELD_NAMES],
  ['name[equals]=x', FIELD_NAMES],
  ['Secret=x', FIELD_NAMES],
  ['nonsense.contains=x', FIELD_NAMES],
  ['pages.equals=x', FIELD_NAMES],
  ['colour.contains=R', ['equals', 'in', 'notEquals', 'notIn', 'specified']],
  ['colour.in=RED,GREEN', ['BLUE', 'RED']],
  ['colour.specified=maybe', ['false', 'true']],
  ['active.equals=maybe', ['false', 'true']],
  ['sort=colour,sort', FIELD_NAMES.filter((name) => !['tags', 'words'].includes(name))],
  ['id.equals=x', undefined],
  ['cursor=x', undefined],
])('%s is rejected with what is allowed: %j', (text, allowed) => {
  const { issues = [] } = safeParse(text, { others: ['secret'] });

  expect(issues.map((issue) => limitsOf(issue)?.allowed?.toSorted())).toEqual([allowed]);
});

describe('listQuery', () => {
  it.each([
    ['page=999999999999999', 999_999_999_999_999],
    ['page=1000000000000000', 999_999_999_999_999],
    ['page=0000000000000000007', 7],
    ['page=x1', 0],
    ['page=1e1', 0],
    ['page=2&page=3', 2],
  ])('reads %s as page %i', (text, page) => {
    expect(read(text).page).toBe(page);
  });

  it.each([
    ['size=1', 1],
    ['size=0', 20],
    ['size=30', 30],
    ['size=31', 30],
    ['size=1000000000000000', 30],
  ])('reads %s as a page size of %i where 30 is the largest', (text, size) => {
    expect(read(text, { pageSizeMax: 30 }).size).toBe(size);
  });

  it.each([
    ['sort=name,asc', ['name asc']],
    ['sort=name,desc', ['name desc']],
    ['sort= name , desc ', ['name desc']],
    ['sort=name,active,desc', ['name desc', 'active desc']],
    ['sort=name,ignoreCase,desc', ['name desc ignoring case']],
    ['sort=name,desc,IGNORECASE', ['name desc ignoring case']],
    ['sort=name,ignorecase&sort=name,desc&sort=name', ['name asc ignoring case', 'name desc']],
    ['sort=name,name,ignorecase', ['name asc ignoring case']],
    ['sort=name,desc&sort=active&sort=name,active,asc', ['name desc', 'active asc']],
    ['sort=', []],
  ])('reads %s as the order %j', (text, expected) => {
    const { sort } = read(text);

    const orders = sort.map(({ field, descending, ignoreCase }) =>
      [field, descending ? 'desc' : 'asc', ...(ignoreCase ? ['ignoring case'] : [])].join(' '),
    );
    expect(orders).toEqual(expected);
  });

  it('sorts only by the sortable fields where the list names them', () => {
    const options = { sortable: ['made'] };

    expect(read('sort=made,desc', options).sort).toEqual([
      { field: 'made', descending: true, ignoreCase: false },
    ]);
    expect(invalid('sort=made&sort=id', options)).toEqual(['sort']);
    expect(v.getMetadata(listQuery(FIELDS, options))).toEqual({
      list: { fields: FIELDS, ...options, pageSizeMax: 2000 },
    });
  });

  it('keeps the sort and filter parameters as they were sent, and no others', () => {
    const { parameters } = read(
      'size=3&id.in=1,2&sort=name,desc&name=a&cacheBuster=1&sort=&sort=id&id.in=3&page=2&unknown=1&name=b',
    );

    expect(parameters).toEqual([
      ['sort', 'name,desc'],
      ['sort', 'id'],
      ['id.in', '1,2'],
      ['id.in', '3'],
      ['name', 'a'],
      ['name', 'b'],
    ]);
  });

  it('reports all invalid parameters', () => {
    const names = ['id.equals', 'active.equals', 'sort', 'cursor'];

    expect(invalid('sort=x&id.equals=x&active.equals=x&cursor=x')).toEqual(names);
  });
});

describe('a filter', () => {
  const ANY = ['equals', 'notEquals', 'in', 'notIn', 'specified'];
  const ORDERED = ['greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual'];
  const TEXTUAL = ['contains', 'doesNotContain'];
  const all = [...ANY, ...ORDERED, ...TEXTUAL];

  it.each([
    ['id', '1', [...ANY, ...ORDERED]],
    ['made', '2026-01-01', [...ANY, ...ORDERED]],
    ['name', 'x', [...ANY, ...TEXTUAL]],
    ['active', 'true', ANY],
    ['colour', 'RED', ANY],
    ['tags', 'HOT', ANY],
    ['words', 'x', ['contains']],
  ])('on %s has the operators of its type and rejects all others', (field, value, operators) => {
    const textOf = (operator: string) =>
      `${field}.${operator}=${operator === 'specified' ? 'true' : value}`;
    const [known, unknown] = [operators, all.filter((operator) => !operators.includes(operator))];

    expect(known.map((operator) => read(textOf(operator)).filters.length)).toEqual(
      known.map(() => 1),
    );
    expect(unknown.map((operator) => invalid(textOf(operator)))).toEqual(
      unknown.map((of) => [`${field}.${of}`]),
    );
  });

  it.each([
    ['id.equals=-5', ['id', 'equals', -5]],
    ['id.equals=9007199254740991', ['id', 'equals', 9_007_199_254_740_991]],
    ['id.in=1,2&id.in=3', ['id', 'in', 1, 2, 3]],
    ['id.notIn=1,2', ['id', 'notIn', 1, 2]],
    ['id.greaterThan=1&id.greaterThan=2', ['id', 'greaterThan', 1, 2]],
    ['name.equals=', ['name', 'equals', '']],
    ['name.equals=a,b', ['name', 'equals', 'a,b']],
    ['name.in=a, b', ['name', 'in', 'a', ' b']],
    ['name.specified=false', ['name', 'specified', false]],
    ['active.in=true,false', ['active', 'in', true, false]],
    ['tags.in=HOT,COLD', ['tags', 'in', 'HOT', 'COLD']],
    ['name=a,b&name=c', ['name', 'equals', 'a,b', 'c']],
  ])('is parsed: %s as %j', (text, expected) => {
    expect(filtersOf(text)).toEqual([expected]);
  });

  // A thread, as in mutation tests, cannot change its time zone.
  it.skipIf(!isMainThread)(
    'reads a date without a time zone as UTC in any server time zone',
    () => {
      vi.stubEnv('TZ', 'Asia/Tokyo');

      const filters = [
        ...filtersOf('made.equals=2026-02-28'),
        ...filtersOf('made.equals=2026-02-28T23:59'),
      ];
      const offset = new Date(0).getTimezoneOffset();

      expect(offset).toBe(-540);
      expect(filters).toEqual([
        ['made', 'equals', '2026-02-28T00:00:00.000Z'],
        ['made', 'equals', '2026-02-28T23:59:00.000Z'],
      ]);
    },
  );

  it.each([
    ...['id.equals=', 'id.equals=1.5', 'id.equals=+1', 'id.equals=9007199254740992'],
    ...['id.equals=00000000000000001', 'id.equals=1x', 'id.equals=x1', 'id.equals=1&id.equals=x'],
    ...['id.in=1,', 'id.specified=1', 'id=one', 'tags=LUKEWARM'],
    ...['active.equals=TRUE', 'colour.equals=red', 'colour.in=RED,GREEN'],
    'made.equals=9999-12-31T23:59:59-00:01',
    // An unknown field or operator.
    ...['name.contians=1', 'toString.equals=1', 'page.equals=1', 'a.b', 'id.=1', '.equals=1'],
    ...['x.id.equals=1', 'id.equals.x=1', 'id.equals[]=1', 'name.', 'sort=toString'],
  ])('is rejected by the name of its parameter: %s', (text) => {
    expect(invalid(text)).toEqual([text.split('=')[0]]);
  });

  // The results for values below, at and above the operand, and for an absent value.
  it.each<[Filter['operator'], boolean[]]>([
    ['equals', [false, true, false, false]],
    ['notEquals', [true, false, true, true]],
    ['in', [false, true, false, false]],
    ['notIn', [true, false, true, true]],
    ['greaterThan', [false, false, true, false]],
    ['greaterThanOrEqual', [false, true, true, false]],
    ['lessThan', [true, false, false, false]],
    ['lessThanOrEqual', [true, true, false, false]],
  ])(
    '%s matches values below, at and above its operand, and an absent value: %j',
    (operator, expected) => {
      const values: [unknown[], string | number][] = [
        [[4, 5, 6, undefined], 5],
        [['a', 'b', 'c', undefined], 'b'],
      ];
      for (const [each, operand] of values) {
        const results = each.map((value) =>
          matches({ value }, { field: 'value', operator, operands: [operand] }),
        );

        expect(results).toEqual(expected);
      }
    },
  );

  it.each<[Filter['operator'], (string | number | boolean)[], unknown[], boolean[]]>([
    ['greaterThan', [1, 3], [1, 2, 3, 4], [false, false, false, true]],
    ['greaterThanOrEqual', [1, 3], [2, 3], [false, true]],
    ['lessThan', [1, 3], [0, 1, 2], [true, false, false]],
    ['lessThanOrEqual', [1, 3], [1, 2], [true, false]],
    ['specified', [true], ['', 0, false, undefined], [true, true, true, false]],
    ['specified', [false], ['', 0, false, undefined], [false, false, false, true]],
    ['specified', [true, false], ['', undefined], [false, false]],
    ['contains', ['b', 'C'], ['abc', 'ABC', 'ab', undefined], [true, true, false, false]],
    ['contains', [''], ['', undefined], [true, false]],
    ['contains', ['ΝΙΚΟΣ'], ['ΝΙΚΟΣΑ', 'νικοσα', 'Νίκος', 'ΝΙΚΟ'], [true, true, false, false]],
    ['contains', ['inş'], ['İnşaat', 'INŞAAT', 'ınşaat', 'insaat'], [true, true, true, false]],
    ['contains', ['José'.normalize('NFC')], ['JOSÉ'.normalize('NFD'), 'Jose'], [true, false]],
    ['equals', ['José'.normalize('NFC')], ['José'.normalize('NFD'), 'josé'], [true, false]],
    ['equals', ['a'], [`a${'\u0301'.repeat(30)}`], [false]],
    ['equals', ['HOT'], [['COLD', 'HOT'], ['COLD'], [], undefined], [true, false, false, false]],
    ['notEquals', ['HOT'], [['COLD', 'HOT'], ['COLD'], [], undefined], [false, true, true, true]],
    ['equals', ['HOT', 'COLD'], [['COLD', 'HOT'], ['COLD']], [true, false]],
    ['in', ['HOT', 'COLD'], [['COLD', 'HOT'], ['COLD'], []], [true, true, false]],
    ['notIn', ['HOT', 'COLD'], [['COLD', 'HOT'], ['COLD'], []], [false, false, true]],
    ['contains', ['defined'], [undefined], [false]],
    ['doesNotContain', ['b', 'C'], ['xyz', 'aB', 'xc', undefined], [true, false, false, true]],
  ])('%s with the operands %j matches %j: %j', (operator, operands, values, expected) => {
    const results = values.map((value) =>
      matches({ value }, { field: 'value', operator, operands }),
    );

    expect(results).toEqual(expected);
  });

  it('takes time that grows with the length of a text, even if it has only marks', async () => {
    const values = Array.from({ length: 200 }, () => ({
      value: `a${'\u0301\u0323'.repeat(2000)}`,
    }));
    const filter = () => {
      for (const operator of ['contains', 'equals'] as const) {
        const matches = matcherOf([{ field: 'value', operator, operands: ['b'] }]);
        expect(values.filter(matches)).toEqual([]);
      }
    };

    // In quadratic time, it would be several seconds.
    expect(await cpuMsOf(filter)).toBeLessThan(1000);
  });
});

describe('the order of entities', () => {
  const entities = ['b', 'A', undefined, 'a', 'B', 'É'.normalize('NFD'), 'É', 'İ'].map(
    (name, id) => ({ id, name }),
  );
  const byName = { field: 'name', descending: false };

  it.each<[string, Order[], number[]]>([
    ['by case', [byName], [1, 4, 3, 0, 5, 6, 7, 2]],
    ['ignoring case', [{ ...byName, ignoreCase: true }], [1, 3, 0, 4, 7, 5, 6, 2]],
    [
      'descending, ignoring case',
      [{ field: 'name', descending: true, ignoreCase: true }],
      [5, 6, 7, 0, 4, 1, 3, 2],
    ],
    [
      'ignoring case, then by case',
      [
        { ...byName, ignoreCase: true },
        { ...byName, descending: true },
      ],
      [3, 1, 0, 4, 7, 5, 6, 2],
    ],
  ])('has canonically equivalent texts side by side: %s', (_, sort, expected) => {
    expect(sorted(entities.toReversed(), sort).map(({ id }) => id)).toEqual(expected);
  });
});

describe('a cursor', () => {
  const encoded = (text: string) => Buffer.from(text).toString('base64url');

  it.each([
    ['', 0],
    ['', Number.MAX_SAFE_INTEGER - 1],
    ['sort=id,desc&sort=name', 7],
    ['page=3&size=5&name.in=a', 7],
  ])('continues, with %j, after the id %i that it encodes', (text, id) => {
    expect(read(`${text}&cursor=${cursorAfter(id)}`).after).toBe(id);
  });

  it.each([
    ['another order', `sort=name&cursor=${cursorAfter(7)}`],
    ['another order before that by id', `sort=name&sort=id&cursor=${cursorAfter(7)}`],
    ['the largest possible id', `cursor=${cursorAfter(Number.MAX_SAFE_INTEGER)}`],
    ['no number', `cursor=${encoded('after ')}`],
    ['another text before it', `cursor=${encoded('xafter 1')}`],
    ['another text after it', `cursor=${encoded('after 1x')}`],
    ['a line after it', `cursor=${encoded('after 1\n')}`],
    ['17 digits', `cursor=${encoded('after 00000000000000001')}`],
    ['no content', 'cursor='],
  ])('is rejected with %s', (_, text) => {
    expect(invalid(text)).toEqual(['cursor']);
  });

  it('encodes what the list defines, with any filter and order, where the list defines it', () => {
    const positionOf = (text: string) => (/^\d+$/.test(text) ? Number(text) + 1 : undefined);
    const query = `sort=made&name.contains=a&name=b&cursor=${cursorAfter(7)}`;

    expect(read(query, { sortable: ['made'], positionOf }).after).toBe(8);
    expect(invalid(`cursor=${cursorAfter('x')}`, { positionOf })).toEqual(['cursor']);
  });
});
