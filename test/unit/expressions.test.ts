import { expect, it } from 'vitest';
import { holds, parseCondition, updated } from '../support/doubles/expressions.ts';

/* What the engines do with a condition or an update is compared in test/interleavings/engines.test.ts. */

const ITEM = { pk: 'A', sk: 'B', n: 5 };
const placeholders = { names: { '#n': 'n' }, values: { ':5': 5 } };

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

it.each([undefined, 'attribute_exists(pk)', 'NOT (#n <> :5)'])(
  'a condition is read as a text, as a tree or as none: %s',
  (condition) => {
    expect(holds(condition, ITEM, placeholders)).toBe(true);
    expect(holds(condition && parseCondition(condition), ITEM, placeholders)).toBe(true);
  },
);

it('a name or a value that is not given is rejected', () => {
  expect(() => holds('#unknown = :5', ITEM, placeholders)).toThrow('#unknown is not defined');
  expect(() => holds('#n = :unknown', ITEM, placeholders)).toThrow(':unknown is not defined');
  expect(() => holds('#n = :5', ITEM, {})).toThrow('#n is not defined');
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
