import { expect, it, vi } from 'vitest';
import { reportProgress } from '../../infra/command-line.ts';
import { useFrozenClock } from '../support/frozen-clock.ts';

useFrozenClock(1_800_000_000_000);

it('reports progress every 10,000 items and every two seconds', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const onProgress = reportProgress('items read');

  for (const [milliseconds, done] of [
    [0, 9999],
    [0, 10_001],
    [0, 20_000],
    [1999, 20_000],
    [1, 20_000],
    [1999, 30_000],
    [1999, 30_001],
    [1, 30_002],
  ] as const) {
    vi.advanceTimersByTime(milliseconds);
    onProgress(done);
  }
  const printed = write.mock.calls.map(([text]) => text);
  write.mockRestore();

  expect(printed).toEqual([10_001, 20_000, 30_000, 30_002].map((done) => `${done} items read\n`));
});
