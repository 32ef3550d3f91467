import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEngine } from '../../infra/local/aws/engine.ts';
import { LONG, randomNumbers, seed } from '../support/instance/run-variables.ts';
import { drawSchedules } from './drawn-schedules.ts';
import { openReplayTable, type ReplayTable } from './replay-on-engines.ts';

const SCHEDULES = LONG ? 10_000 : 100;
/** Drawn at once, since drawing stops the clock. */
const BATCH = 100;
const CONCURRENCY = 8;

const { TEST_ENGINE_URL } = process.env;

const ENGINES: [name: string, externalUrl: string | undefined][] = [
  ['the embedded engine', undefined],
];
if (TEST_ENGINE_URL) ENGINES.push(['the engine of this run', TEST_ENGINE_URL]);

describe.each(ENGINES)('%s', (_, externalUrl) => {
  let engine: Awaited<ReturnType<typeof startEngine>>;
  let table: ReplayTable;
  beforeAll(async () => {
    const ignore = () => undefined;
    engine = await startEngine({ externalUrl }, ignore, ignore);
    table = await openReplayTable(engine.url);
  });
  afterAll(async () => {
    await table.delete();
    await engine.stop();
  });

  it('gives every drawn schedule the results of the engine in memory', async () => {
    const random = randomNumbers(seed);
    for (let done = 0; done < SCHEDULES; done += BATCH) {
      const left = (await drawSchedules(random, BATCH)).values();
      const replayAll = async () => {
        for (const schedule of left) await table.replay(schedule);
      };
      const replays = await Promise.allSettled(Array.from({ length: CONCURRENCY }, replayAll));
      const failed = replays.find(({ status }) => status === 'rejected');
      expect(failed, `SEED=${seed}`).toBeUndefined();
    }
  });
});
