import { expect, it } from 'vitest';
import { intervalAfter } from '../../infra/local/watch-files.ts';

it.each([
  [2, 150],
  [10, 400],
  [1000, 2000],
])('after a poll that took %i ms, files are polled again in %i ms', (duration, interval) => {
  expect(intervalAfter(duration)).toBe(interval);
});
