import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { inspect, isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEngine } from '../../infra/local/aws/engine.ts';
import { cancellationCodes } from '../../lib/runtime/outage.ts';
import type { SnapshotTable } from '../../lib/table/snapshot.ts';
import type { Item } from '../../lib/table/table.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { LONG, randomNumbers, seed } from '../support/instance/run-variables.ts';
import { NOBODY } from './drawn-calls.ts';
import { drawSchedules, type Result, type Schedule } from './drawn-schedules.ts';
import { openEngineTable } from './engine-table.ts';
import type { Call } from './worlds.ts';

/*
 * Schedules replayed call by call on an engine of DynamoDB, through the table of lib. Each call
 * ends before the next begins, so this cannot show that the parts of `getAll` and `query` may see
 * only some of the writes of a transaction, nor conflicts and throttling.
 */

/** A table of an engine on which schedules are replayed. */
interface ReplayTable {
  /** Replays a schedule. Fails at the first difference from the engine in memory. */
  replay(schedule: Schedule): Promise<void>;
  delete(): Promise<void>;
}

/** Keys per BatchGetItem. */
const READ_MAX = 100;

/** Creates a table in the engine. Each schedule has partitions of its own. */
async function openReplayTable(url: string): Promise<ReplayTable> {
  const engineTable = await openEngineTable(url);
  const { table } = engineTable;
  return {
    async replay({ name, start, steps, end }) {
      const prefix = `${randomUUID()} `;
      await engineTable.put(start.map((item) => prefixed(item, prefix)));
      for (const [step, { call, result }] of steps.entries()) {
        const actual = await resultOf(table, call, prefix);
        // Faster than `deepEqual`, which explains the difference.
        if (!isDeepStrictEqual(actual, result))
          assert.deepEqual(
            actual,
            result,
            `${name}, step ${step + 1}: ${inspect(call, { depth: null })}`,
          );
      }
      const written = steps.flatMap(({ call }) => ('writes' in call ? call.writes : []));
      const keys = [...start, ...written.map(({ key }) => key)].map(({ pk, sk }) => ({ pk, sk }));
      const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
      const after: (Item | undefined)[] = [];
      for (let at = 0; at < distinct.length; at += READ_MAX) {
        const read = distinct.slice(at, at + READ_MAX);
        const { items = [] } = await resultOf(
          table,
          { id: 0, by: NOBODY, operation: 'getAll', keys: read },
          prefix,
        );
        after.push(...items);
      }
      const expected = new Map(end.map((item) => [nameOf(item), item]));
      assert.deepEqual(
        after,
        distinct.map((key) => expected.get(nameOf(key))),
        `${name}, the items at the end`,
      );
    },
    delete: engineTable.delete,
  };
}

const prefixed = <K extends { readonly pk: string }>(key: K, prefix: string): K => ({
  ...key,
  pk: prefix + key.pk,
});

async function resultOf(table: SnapshotTable, call: Call, prefix: string): Promise<Result> {
  try {
    const items = await itemsOf(table, call, prefix);
    return { items: items.map((item) => item && { ...item, pk: item.pk.slice(prefix.length) }) };
  } catch (error) {
    const codes = cancellationCodes(error);
    return codes ? { codes } : { error: (error as Error).name };
  }
}

async function itemsOf(table: SnapshotTable, call: Call, prefix: string) {
  const keys = 'keys' in call ? call.keys.map((key) => prefixed(key, prefix)) : [];
  const writes =
    'writes' in call
      ? call.writes.map((each) => ({ ...each, key: prefixed(each.key, prefix) }))
      : [];
  switch (call.operation) {
    case 'get':
      return [await table.get(keys[0] as Item)];
    case 'getAll':
      return table.getAll(keys);
    case 'snapshot':
      return table.snapshot(keys, () => undefined);
    case 'query':
      return table.query(prefix + call.pk, call.range);
    case 'update':
      return [await table.update(writes[0] as never)];
    case 'transact':
      await table.transact(writes, tokenOf(prefix + call.token));
      return [];
  }
}

/** A client token of a schedule, by the limit of 36 characters. */
const tokenOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 36);

const SCHEDULES = LONG ? 10_000 : 100;
const TIMEOUT_MS = SCHEDULES * 3000;
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

  it('gives every drawn schedule the results of the engine in memory', {
    timeout: TIMEOUT_MS,
  }, async () => {
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
