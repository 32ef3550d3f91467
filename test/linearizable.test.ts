import { describe, expect, it } from 'vitest';
import { linearize, type Operation, type Specification } from './support/linearizable.ts';

/* The checker itself, on histories of a register that is written and read: made by hand, so that one can see the order. */

const register: Specification<string> = (state, input) =>
  input === 'read' ? [{ state, output: state }] : [{ state: input, output: 'written' }];

const UNKNOWN = Number.POSITIVE_INFINITY;
const operation = (invoked: number, returned: number, input: string, output = 'written'): Operation<string> => ({
  client: invoked,
  invoked,
  returned,
  input,
  output,
});
const explained = (...history: Operation<string>[]) => linearize(history, 'empty', register) === undefined;

describe('a history', () => {
  it('of nothing is explained', () => {
    expect(explained()).toBe(true);
  });

  it('of one after the other is explained', () => {
    expect(explained(operation(0, 1, 'a'), operation(2, 3, 'read', 'a'))).toBe(true);
  });

  it('in which a read sees what was never written is not', () => {
    expect(explained(operation(0, 1, 'a'), operation(2, 3, 'read', 'b'))).toBe(false);
  });

  it('in which a read sees what was overwritten before it was asked for is not: real time counts', () => {
    expect(explained(operation(0, 1, 'a'), operation(2, 3, 'b'), operation(4, 5, 'read', 'a'))).toBe(false);
  });

  it('in which two writes overlap is explained by either order', () => {
    expect(explained(operation(0, 3, 'a'), operation(1, 2, 'b'), operation(4, 5, 'read', 'a'))).toBe(true);
    expect(explained(operation(0, 3, 'a'), operation(1, 2, 'b'), operation(4, 5, 'read', 'b'))).toBe(true);
  });

  it('in which two reads see two overlapping writes in both orders is not', () => {
    const writes = [operation(0, 9, 'a'), operation(1, 10, 'b')];
    const reads = [operation(11, 12, 'read', 'a'), operation(13, 14, 'read', 'b')];

    expect(explained(...writes, ...reads)).toBe(false);
  });

  it('in which a write is seen while it is under way, and no longer afterwards, is not', () => {
    const write = operation(0, 9, 'a');

    expect(explained(write, operation(1, 2, 'read', 'a'), operation(3, 4, 'read', 'empty'))).toBe(false);
    expect(explained(write, operation(1, 2, 'read', 'empty'), operation(3, 4, 'read', 'a'))).toBe(true);
  });
});

describe('an operation whose outcome is unknown', () => {
  it('may have taken effect, at once or late', () => {
    const lost = operation(0, UNKNOWN, 'a', 'no answer');

    expect(explained(lost, operation(1, 2, 'read', 'a'))).toBe(true);
    expect(explained(lost, operation(1, 2, 'read', 'empty'), operation(3, 4, 'read', 'a'))).toBe(true);
  });

  it('may never take effect', () => {
    expect(explained(operation(0, UNKNOWN, 'a', 'no answer'), operation(1, 2, 'read', 'empty'))).toBe(true);
  });

  it('takes effect once at most', () => {
    const lost = operation(0, UNKNOWN, 'a', 'no answer');
    const seen = [operation(1, 2, 'read', 'a'), operation(3, 4, 'b'), operation(5, 6, 'read', 'a')];

    expect(explained(lost, ...seen)).toBe(false);
  });

  it('takes no effect before it was invoked', () => {
    expect(explained(operation(0, 1, 'read', 'a'), operation(2, UNKNOWN, 'a', 'no answer'))).toBe(false);
  });
});

it('a specification may allow several outcomes', () => {
  const coin: Specification<string> = (state) => ['heads', 'tails'].map((output) => ({ state, output }));

  expect(linearize([operation(0, 1, 'toss', 'tails')], '', coin)).toBeUndefined();
  expect(linearize([operation(0, 1, 'toss', 'edge')], '', coin)).toBeDefined();
});

it('a counterexample names the order that was found, and what does not fit', () => {
  const written = operation(0, 1, 'a');
  const wrong = operation(2, 3, 'read', 'b');

  expect(linearize([written, wrong], 'empty', register)).toEqual({ order: [written], state: 'a', next: [wrong] });
});
