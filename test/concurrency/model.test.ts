import { afterAll, beforeAll, expect, it } from 'vitest';
import { LONG } from '../support/instance/long.ts';
import {
  type RestorableInstance,
  startRestorableInstance,
} from '../support/model/restorable-instance.ts';
import { seed } from '../support/model/seed.ts';
import { runSequences } from '../support/model/sequences.ts';

/* SEED=n repeats the same sequences; SEQUENCES=n runs n of them. */

const SEQUENCES = Number(process.env.SEQUENCES ?? (LONG ? 40 : 8));

let instance: RestorableInstance;
beforeAll(async () => {
  instance = await startRestorableInstance();
});
afterAll(() => instance.gatehouse.stop());

it('responses, lists and table match the model for random sequences of requests', {
  timeout: 300_000 + 10_000 * SEQUENCES,
}, async () => {
  const found = await runSequences(instance, { seed, numRuns: SEQUENCES });

  expect(found, found).toBeUndefined();
});
