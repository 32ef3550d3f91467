import { describe, expect, it } from 'vitest';
import { Failure } from '../../lib/contract/failure.ts';
import { commit, loadDecideCommit } from '../../lib/table/change.ts';
import { sequenceKey } from '../../lib/table/item-kind.ts';
import type { SnapshotTable } from '../../lib/table/snapshot.ts';
import { attributesAre, EXISTS, set } from '../../lib/table/write.ts';
import { SCENARIOS } from './catalogue.ts';
import { deterministic } from './determinism.ts';
import { ada, tableOf } from './people.ts';
import { Opened, reportOf } from './scenario.ts';
import { keyOf } from './state.ts';
import type { Request } from './worlds.ts';

/* The explorer itself, with rules that are wrong on purpose. */

const key = sequenceKey('USER');

/** Reads a number and writes the next one. */
const counting = (name: string, isChecked: boolean): Request => ({
  name,
  handler: 'count',
  writes: [key.pk],
  run: (table) =>
    loadDecideCommit(
      table,
      () => table.get(key),
      (item) => {
        const { n } = item as unknown as { n: number };
        const condition = isChecked ? attributesAre({ n }) : EXISTS;
        return { writes: [set(key, { n: n + 1 }, condition)], result: n };
      },
    ),
});
const items = tableOf(ada);
const of = (...requests: Request[]) => new Opened({ requests, items });

describe('the explorer', () => {
  it('finds a lost update, reports the shortest schedule, and repeats it', async () => {
    await deterministic(async () => {
      const opened = of(counting('a counts', false), counting('b counts', false));
      const { violation } = await opened.judge();

      const report = violation && reportOf(opened.scenario, violation);
      expect(report?.replace(' although', '\n  although')).toMatchInlineSnapshot(`
        "1. a counts: reads SEQUENCE USER
        2. b counts: reads SEQUENCE USER
        3. a counts: commits Update SEQUENCE USER => 100000
        4. b counts: commits Update SEQUENCE USER
          although SEQUENCE USER has another n since step 2 => 100000
        no order of the requests has these responses and leaves this behind.
        The nearest is: a counts, then b counts. It differs in
          b counts: 100000 instead of 100001
          SEQUENCE USER: n 100001 instead of 100002
        npx node test/interleavings/replay.ts 'a counts | b counts' '1 2 1 2'"
      `);
      const { reason } = await opened.replay(violation?.schedule.text ?? '');
      expect(reason).toBe(violation?.reason);
    });
  });

  it.each([
    ['abc', 1],
    ['ab', 2],
  ])(
    'finds nothing wrong with %s who count on a condition, with %d faults',
    async (names, faults) => {
      await deterministic(async () => {
        const opened = of(...[...names].map((name) => counting(name, true)));
        const { seen, violation } = await opened.judge({ faults });

        expect([violation, seen.isComplete]).toEqual([undefined, true]);
      });
    },
  );

  it('says that a search has not ended', async () => {
    await deterministic(async () => {
      const opened = of(counting('a', true), counting('b', true));

      expect((await opened.judge({ statesMax: 5 })).seen.isComplete).toBe(false);
    });
  });

  it('rejects a request that does not wait for all of its calls', async () => {
    const hasty = async (table: SnapshotTable) => {
      await Promise.race([table.get(key), table.get({ ...key, sk: 'OTHER' })]);
    };
    await deterministic(async () => {
      const opened = of({ name: 'hasty', handler: 'count', writes: [], run: hasty });

      await expect(opened.judge()).rejects.toThrow(
        'A response is sent before all calls have ended',
      );
    });
  });

  it('serves a call that is made before all parallel calls have ended', async () => {
    const ahead: Request = {
      name: 'a looks twice',
      handler: 'count',
      writes: [],
      readsAhead: true,
      async run(table) {
        const read = async () => Number((await table.get(key))?.n);
        const [second, other] = await Promise.all([read().then(read), read()]);
        return second < other;
      },
    };
    await deterministic(async () => {
      const { violation } = await of(ahead, counting('b counts', true)).judge();

      expect(violation?.schedule.text).toBe('2 1 1.1 2 1');
    });
  });

  it('rejects code that keeps what an earlier request has read', async () => {
    let known: unknown;
    const caching = async (table: SnapshotTable) => {
      known ??= await table.get(key);
      await table.get({ ...key, sk: 'OTHER' });
      return known;
    };
    await deterministic(async () => {
      const opened = of({ name: 'a', handler: 'count', writes: [], run: caching });

      await expect(opened.judge()).rejects.toThrow('keeps something from an earlier request');
    });
  });

  it('finds a request that gives up after a conflict', async () => {
    const hesitant: Request = {
      ...counting('a', true),
      run: async (table) => {
        if ((await commit(table, [set(key, { n: 1 }, EXISTS)])) === 'busy')
          throw new Failure('unavailable');
      },
    };
    await deterministic(async () => {
      const { violation } = await of(hesitant).judge({ faults: 1 });

      expect(violation?.reason).toBe('a request gives up that could be retried');
      expect(violation?.schedule.text).toBe('1:busy');
    });
  });

  it('reaches the same final states when it leaves out orders', async () => {
    await deterministic(async () => {
      let position = 0;
      for (const scenario of [...SCENARIOS.specialCases(), ...SCENARIOS.pairsOfAdministrators()]) {
        if (position++ % 61 > 0) continue;
        const finalsOf = async (reduces: boolean, faults: number) => {
          const finals = new Set<string>();
          const onFinal = (state: Parameters<typeof keyOf>[0]) => void finals.add(keyOf(state));
          await opened.judge({ reduces, faults, onFinal });
          return finals;
        };
        const opened = new Opened(scenario);
        for (const faults of [0, 1])
          expect(await finalsOf(true, faults)).toEqual(await finalsOf(false, faults));
      }
    });
  });
});
