import { afterAll, beforeAll, expect, it } from 'vitest';
import { LONG } from '../support/instance/long.ts';
import { type Bench, openBench } from '../support/model/search-instance.ts';
import { seed } from '../support/model/seed.ts';
import { runSequences } from '../support/model/sequences.ts';

/* SEED=n repeats the same sequences; SEQUENCES=n runs n of them. */

const SEQUENCES = Number(process.env.SEQUENCES ?? (LONG ? 40 : 8));

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.gatehouse.stop());

it('responses, lists and table match the model for random sequences of requests', {
  timeout: 300_000 + 10_000 * SEQUENCES,
}, async () => {
  const found = await runSequences(bench, { seed, numRuns: SEQUENCES });

  expect(found, found).toBeUndefined();
});
