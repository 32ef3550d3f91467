import { expect, it } from 'vitest';
import { holds, updated } from '../support/doubles/expressions.ts';

const ITEM = { pk: 'A', sk: 'B', n: 5, name: 'ada', ids: new Set([1, 2]), list: ['x'] };
const placeholders = {
  names: { '#n': 'n', '#name': 'name', '#ids': 'ids', '#list': 'list', '#none': 'none' },
  values: { ':5': 5, ':6': 6, ':ada': 'ada', ':d': 'd', ':1': 1, ':3': 3, ':x': 'x' },
};

it.each([
  ['#n = :5', true],
  ['#n <> :6', true],
  // A missing attribute differs from every value, and is neither equal, less nor greater.
  ['#none = :5', false],
  ['#none <> :5', true],
  ['#n < :6 AND #n <= :5 AND #n >= :5 AND NOT #n > :5', true],
  // Values of different types are not ordered.
  ['#n < :ada', false],
  ['attribute_exists(pk) AND attribute_not_exists(#none)', true],
  ['attribute_exists(#none)', false],
  ['contains(#ids, :1) AND NOT contains(#ids, :3)', true],
  ['contains(#list, :x) AND contains(#name, :d)', true],
  ['size(#ids) > :1', true],
  // AND binds before OR, and NOT before both.
  ['#n = :5 OR #n = :6 AND #n = :6', true],
  ['(#n = :5 OR #n = :6) AND #n = :6', false],
  ['NOT #n = :6 AND #n = :6', false],
])('%s is %s', (condition, expected) => {
  expect(holds(condition, ITEM, placeholders)).toBe(expected);
});

it('of an item that does not exist, no attribute exists', () => {
  expect(holds('attribute_not_exists(pk)', undefined, placeholders)).toBe(true);
  expect(holds('#n = :5', undefined, placeholders)).toBe(false);
});

it.each([
  ['SET #n = :6, #none = :x', { n: 6, none: 'x' }],
  ['ADD #n :1, #none :3', { n: 6, none: 3 }],
  ['ADD #n :1 SET #name = :x', { n: 6, name: 'x' }],
])('%s changes what it names', (update, expected) => {
  expect(updated(ITEM, update, placeholders)).toMatchObject(expected);
});

it('REMOVE leaves the other attributes', () => {
  const { name, list, ...others } = ITEM;
  expect(updated(ITEM, 'REMOVE #name, #list', placeholders)).toEqual(others);
});

it('ADD and DELETE change the members of a set, and an empty one goes', () => {
  const values = { ':set': new Set([2, 3]), ':all': new Set([1, 2]) };
  const after = (update: string) => updated(ITEM, update, { ...placeholders, values }).ids;

  expect(after('ADD #ids :set')).toEqual(new Set([1, 2, 3]));
  expect(after('DELETE #ids :set')).toEqual(new Set([1]));
  expect(after('DELETE #ids :all')).toBeUndefined();
});
