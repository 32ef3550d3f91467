import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import type { Key } from '../../lib/table/keys.ts';
import { add, claim, remove } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/*
 * What every race test relies on, and local engines have violated. Calls that follow each other are
 * in test/interleavings/engines.test.ts.
 */

const { table } = await useGatehouse();

const newKey = (name: string): Key => ({ pk: `ENGINE-RULES#${name}`, sk: randomUUID() });
const counterOf = async (key: Key) => (await table.get(key))?.n;

it('exactly one of 50 concurrent puts of a new item succeeds', async () => {
  const key = newKey('claim');
  const put = async (n: number) => {
    for (;;) {
      const outcome = await commit(table, [claim(key, { n }, 'login-taken')]).catch(
        (error) => error.code,
      );
      if (outcome !== 'busy') return { n, outcome };
    }
  };

  const outcomes = await Promise.all(Array.from({ length: 50 }, (_, n) => put(n)));

  const winners = outcomes.filter(({ outcome }) => outcome === 'committed');
  assert.equal(winners.length, 1);
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'login-taken').length, 49);
  assert.equal(await counterOf(key), winners[0]?.n);
  await commit(table, [remove(key)]);
});

it('none of 20 concurrent additions is lost', async () => {
  const key = newKey('sum');
  const increase = async () => {
    while ((await commit(table, [add(key, 1)])) !== 'committed');
  };

  await Promise.all(Array.from({ length: 20 }, increase));

  assert.equal(await counterOf(key), 20);
  await commit(table, [remove(key)]);
});
