import { describe, expect, it } from 'vitest';
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
const isLinearizable = (...history: Operation<string>[]) =>
  linearize(history, 'empty', register) === undefined;

describe('a history', () => {
  it('is linearizable when it is empty', () => {
    expect(isLinearizable()).toBe(true);
  });

  it('is linearizable when its operations run one after another', () => {
    expect(isLinearizable(operation(0, 1, 'a'), operation(2, 3, 'read', 'a'))).toBe(true);
  });

  it('is not linearizable when a read returns a value that was never written', () => {
    expect(isLinearizable(operation(0, 1, 'a'), operation(2, 3, 'read', 'b'))).toBe(false);
  });

  it('is not linearizable when a read returns a value overwritten before it began', () => {
    expect(
      isLinearizable(operation(0, 1, 'a'), operation(2, 3, 'b'), operation(4, 5, 'read', 'a')),
    ).toBe(false);
  });

  it('allows either order of two overlapping writes', () => {
    expect(
      isLinearizable(operation(0, 3, 'a'), operation(1, 2, 'b'), operation(4, 5, 'read', 'a')),
    ).toBe(true);
    expect(
      isLinearizable(operation(0, 3, 'a'), operation(1, 2, 'b'), operation(4, 5, 'read', 'b')),
    ).toBe(true);
  });

  it('is not linearizable when two reads return different values after the last write', () => {
    const writes = [operation(0, 9, 'a'), operation(1, 10, 'b')];
    const reads = [operation(11, 12, 'read', 'a'), operation(13, 14, 'read', 'b')];

    expect(isLinearizable(...writes, ...reads)).toBe(false);
  });

  it('is not linearizable when a pending write is visible to one read and not to the next', () => {
    const write = operation(0, 9, 'a');

    expect(
      isLinearizable(write, operation(1, 2, 'read', 'a'), operation(3, 4, 'read', 'empty')),
    ).toBe(false);
    expect(
      isLinearizable(write, operation(1, 2, 'read', 'empty'), operation(3, 4, 'read', 'a')),
    ).toBe(true);
  });
});

describe('an operation whose outcome is unknown', () => {
  it('may have taken effect, immediately or later', () => {
    const lost = operation(0, UNKNOWN, 'a', 'no response');

    expect(isLinearizable(lost, operation(1, 2, 'read', 'a'))).toBe(true);
    expect(
      isLinearizable(lost, operation(1, 2, 'read', 'empty'), operation(3, 4, 'read', 'a')),
    ).toBe(true);
  });

  it('may never take effect', () => {
    expect(
      isLinearizable(operation(0, UNKNOWN, 'a', 'no response'), operation(1, 2, 'read', 'empty')),
    ).toBe(true);
  });

  it('takes effect at most once', () => {
    const lost = operation(0, UNKNOWN, 'a', 'no response');
    const seen = [operation(1, 2, 'read', 'a'), operation(3, 4, 'b'), operation(5, 6, 'read', 'a')];

    expect(isLinearizable(lost, ...seen)).toBe(false);
  });

  it('cannot take effect before it is invoked', () => {
    expect(
      isLinearizable(operation(0, 1, 'read', 'a'), operation(2, UNKNOWN, 'a', 'no response')),
    ).toBe(false);
  });
});

it('allows a specification with several outcomes', () => {
  const coin: Specification<string> = (state) =>
    ['heads', 'tails'].map((output) => ({ state, output }));

  expect(linearize([operation(0, 1, 'toss', 'tails')], '', coin)).toBeUndefined();
  expect(linearize([operation(0, 1, 'toss', 'edge')], '', coin)).toBeDefined();
});

it('reports the longest order found and the operations that do not fit', () => {
  const written = operation(0, 1, 'a');
  const wrong = operation(2, 3, 'read', 'b');

  expect(linearize([written, wrong], 'empty', register)).toEqual({
    order: [written],
    state: 'a',
    next: [wrong],
  });
});
