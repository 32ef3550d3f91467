import { expect, it } from 'vitest';
import { holds, parseCondition, updated } from '../support/doubles/expressions.ts';

const ITEM = {
  pk: 'A',
  sk: 'B',
  n: 5,
  name: 'ada',
  ids: new Set([1, 2]),
  list: ['x', { a: 1 }],
  nothing: null,
};
const placeholders = {
  names: {
    '#n': 'n',
    '#name': 'name',
    '#ids': 'ids',
    '#list': 'list',
    '#nothing': 'nothing',
    '#none': 'none',
    '#other': 'other',
  },
  values: {
    ':5': 5,
    ':6': 6,
    ':ada': 'ada',
    ':d': 'd',
    ':1': 1,
    ':2': 2,
    ':3': 3,
    ':x': 'x',
    ':map': { a: 1 },
    ':ids': new Set([2, 1]),
    ':null': null,
  },
};

it('a condition is parsed to a tree', () => {
  const test = (name: string, ...operands: object[]) => ({ kind: 'test', name, operands });
  const [a, b, c] = ['#a', ':b', 'c'].map((text) => ({ text, isSize: false }));
  const size = { text: '#a', isSize: true };

  expect(
    parseCondition('attribute_exists(c) OR NOT (size(#a) >= :b AND contains(#a,:b)) AND #a<>:b'),
  ).toEqual({
    kind: 'or',
    parts: [
      test('attribute_exists', c as object),
      {
        kind: 'and',
        parts: [
          {
            kind: 'not',
            part: {
              kind: 'and',
              parts: [test('>=', size, b as object), test('contains', a as object, b as object)],
            },
          },
          test('<>', a as object, b as object),
        ],
      },
    ],
  });
});

it.each([
  ['#n = :5', true],
  ['#n = :6', false],
  ['#n <> :6', true],
  ['#n <> :5', false],
  ['#ids = :ids AND #nothing = :null', true],
  // A missing attribute differs from every value and attribute, and is neither less nor greater.
  ['#none = :5', false],
  ['#none = #other', false],
  ['#none <> :5', true],
  ['#none < :5 OR #none <= :5 OR #none > :5 OR #none >= :5', false],
  ['NOT #none < :5', true],
  ['#n < :6 AND #n <= :5 AND #n >= :5 AND NOT #n > :5', true],
  ['#n < :5', false],
  ['#n <= :3', false],
  ['#n >= :6', false],
  ['#name < :d AND :d > #name', true],
  // Values of different types are not ordered.
  ['#n < :ada OR #n >= :ada', false],
  ['attribute_exists(pk) AND attribute_not_exists(#none)', true],
  ['attribute_exists(#none)', false],
  ['attribute_exists(#nothing)', true],
  ['attribute_not_exists(#nothing)', false],
  ['contains(#ids, :1) AND NOT contains(#ids, :3)', true],
  ['contains(#list, :x) AND contains(#list, :map) AND contains(#name, :d)', true],
  ['contains(#none, :x) OR contains(#n, :5)', false],
  ['size(#ids) > :1', true],
  ['size(#ids) > :2 OR size(#ids) < :2', false],
  ['size(#list) = :2 AND size(#name) = :3', true],
  ['size(#none) > :1 OR size(#none) < :1', false],
  // AND binds before OR, and NOT before both.
  ['#n = :5 OR #n = :6 AND #n = :6', true],
  ['#n = :6 AND #n = :6 OR #n = :5', true],
  ['(#n = :5 OR #n = :6) AND #n = :6', false],
  ['NOT #n = :6 AND #n = :6', false],
  ['NOT #n = :5 OR #n = :5', true],
  ['NOT (#n = :5 OR #n = :6)', false],
  ['NOT NOT (#n = :5)', true],
  ['((#n = :5) AND (#n = :6)) OR (#n = :5)', true],
])('%s is %s', (condition, expected) => {
  expect(holds(condition, ITEM, placeholders)).toBe(expected);
  expect(holds(parseCondition(condition), ITEM, placeholders)).toBe(expected);
});

it('no condition holds for every item', () => {
  expect(holds(undefined, undefined, {})).toBe(true);
});

it.each([
  ['attribute_not_exists(pk)', true],
  ['#n = :5', false],
  ['#n <> :5', true],
  ['NOT #n = :5', true],
  ['contains(#ids, :1)', false],
])('of an item that does not exist, %s is %s', (condition, expected) => {
  expect(holds(condition, undefined, placeholders)).toBe(expected);
});

it.each([
  ['', 'Expected an operand after '],
  ['#n =', 'Expected an operand after #n ='],
  ['#n = AND', 'Expected an operand after #n = AND'],
  ['#n :5', 'Expected a comparison after #n'],
  ['(#n = :5', 'Expected ) after ( #n = :5'],
  ['#n = :5)', 'Expected the end after #n = :5'],
  ['#n = :5 #n', 'Expected the end after #n = :5'],
  ['#n = :5 AND', 'Expected an operand after #n = :5 AND'],
  ['NOT', 'Expected an operand after NOT'],
  ['size(#ids > :1', 'Expected ) after size ( #ids'],
  ['contains(#ids)', 'Expected , after contains ( #ids'],
  ['attribute_exists(pk, #n)', 'Expected ) after attribute_exists ( pk'],
  ['#n <> <>', 'Expected an operand after #n <> <>'],
  ['begins_with(#n, :5)', 'Expected a comparison after begins_with'],
  ['#n = :5 + :6', 'Not understood:  + :6'],
])('%j is rejected', (condition, message) => {
  expect(() => parseCondition(condition)).toThrow(new Error(message));
});

it('a name or a value that is not given is rejected', () => {
  expect(() => holds('#unknown = :5', ITEM, placeholders)).toThrow('#unknown is not defined');
  expect(() => holds('#n = :unknown', ITEM, placeholders)).toThrow(':unknown is not defined');
  expect(() => holds('#n = :5', ITEM, {})).toThrow('#n is not defined');
});

it.each([
  ['SET #n = :6, #none = :x', { n: 6, none: 'x' }],
  ['ADD #n :1, #none :3', { n: 6, none: 3 }],
  ['ADD #n :1 SET #name = :x', { n: 6, name: 'x' }],
  ['SET #name = :x ADD #n :1, #none :3', { n: 6, none: 3, name: 'x' }],
  ['REMOVE #none', {}],
])('%s changes what it names and leaves the rest', (update, expected) => {
  expect(updated(ITEM, update, placeholders)).toStrictEqual({ ...ITEM, ...expected });
});

it('REMOVE leaves the other attributes', () => {
  const { name, list, ...others } = ITEM;
  expect(updated(ITEM, 'REMOVE #name, #list', placeholders)).toStrictEqual(others);
});

it('ADD and DELETE change the members of a set, and an empty one goes', () => {
  const values = { ':set': new Set([2, 3]), ':all': new Set([1, 2]) };
  const after = (update: string) => updated(ITEM, update, { ...placeholders, values }).ids;
  const other = (update: string) => updated(ITEM, update, { ...placeholders, values }).none;

  expect(after('ADD #ids :set')).toEqual(new Set([1, 2, 3]));
  expect(after('DELETE #ids :set')).toEqual(new Set([1]));
  expect(after('DELETE #ids :all')).toBeUndefined();
  expect(other('ADD #none :set')).toEqual(new Set([2, 3]));
  expect(other('DELETE #none :set')).toBeUndefined();
});

it.each([
  ['#n = :5', 'Not understood: #n = :5'],
  ['SET #n :5', 'Not understood: SET #n :5'],
  ['SET #n = :5,', 'Not understood: SET '],
  ['SET #n = #n + :1', 'Not understood: SET #n = #n + :1'],
  ['REMOVE #n = :5', 'Not understood: REMOVE #n = :5'],
])('the update %s is rejected', (update, message) => {
  expect(() => updated(ITEM, update, placeholders)).toThrow(message);
});
