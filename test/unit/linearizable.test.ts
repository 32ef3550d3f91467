import { expect, it } from 'vitest';
import { linearize, type Operation, type Specification } from '../support/model/linearizable.ts';

/* Tests the linearizability checker on handwritten histories of a single read-write register. */

const register: Specification<string> = (state, input) =>
  input === 'read' ? [{ state, output: state }] : [{ state: input, output: 'written' }];

const UNKNOWN = Number.POSITIVE_INFINITY;
const operation = (
  invoked: number,
  returned: number,
  input: string,
  output = 'written',
): Operation<string> => ({
  client: invoked,
  invoked,
  returned,
  input,
  output,
});
type History = Operation<string>[];
const write = (invoked: number, returned: number, value: string) =>
  operation(invoked, returned, value);
const read = (invoked: number, returned: number, value: string) =>
  operation(invoked, returned, 'read', value);
const lost = operation(0, UNKNOWN, 'a', 'no response');

it.each<[string, History]>([
  ['has operations one after another', [write(0, 1, 'a'), read(2, 3, 'a')]],
  ['has the last of two overlapping writes', [write(0, 3, 'a'), write(1, 2, 'b'), read(4, 5, 'b')]],
  [
    'has the first of two overlapping writes',
    [write(0, 3, 'a'), write(1, 2, 'b'), read(4, 5, 'a')],
  ],
  ['shows a pending write late', [write(0, 9, 'a'), read(1, 2, 'empty'), read(3, 4, 'a')]],
  ['shows a write of unknown outcome', [lost, read(1, 2, 'a')]],
  ['shows a write of unknown outcome late', [lost, read(1, 2, 'empty'), read(3, 4, 'a')]],
  ['never shows a write of unknown outcome', [lost, read(1, 2, 'empty')]],
])('a history that %s is linearizable', (_, history) => {
  expect(linearize(history, 'empty', register)).toBeUndefined();
});

it.each<[string, History]>([
  ['has a value that was never written', [write(0, 1, 'a'), read(2, 3, 'b')]],
  ['has an overwritten value', [write(0, 1, 'a'), write(2, 3, 'b'), read(4, 5, 'a')]],
  [
    'has two values after the last write',
    [write(0, 9, 'a'), write(1, 10, 'b'), read(11, 12, 'a'), read(13, 14, 'b')],
  ],
  ['loses a pending write again', [write(0, 9, 'a'), read(1, 2, 'a'), read(3, 4, 'empty')]],
  [
    'shows a write of unknown outcome twice',
    [lost, read(1, 2, 'a'), write(3, 4, 'b'), read(5, 6, 'a')],
  ],
  [
    'shows a write of unknown outcome before it is invoked',
    [read(0, 1, 'a'), operation(2, UNKNOWN, 'a', 'no response')],
  ],
])('a history that %s is not linearizable', (_, history) => {
  expect(linearize(history, 'empty', register)).toBeDefined();
});
