import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { commit } from '../../lib/table/change.ts';
import type { Table } from '../../lib/table/table.ts';
import { add, claim, type Write } from '../../lib/table/write.ts';

/*
 * What every result of a race rests on. Local engines have been known to get each of these wrong, so whoever races asks
 * the engine first.
 */

const key = (name: string) => ({ pk: `SELFTEST#${name}`, sk: randomUUID() });
const forget = (table: Table, ...keys: { pk: string; sk: string }[]) =>
  table.transact(
    keys.map((at): Write => ({ act: 'Delete', key: at })),
    randomUUID(),
  );
const counter = async (table: Table, at: { pk: string; sk: string }) => (await table.get(at))?.n;

export const ENGINE_RULES: Record<string, (table: Table) => Promise<void>> = {
  async 'of 50 that put an item which must not exist, one wins'(table) {
    const wanted = key('claim');
    const put = async (n: number) => {
      for (;;) {
        const outcome = await commit(table, [claim(wanted, { n }, 'login-taken')]).catch((error) => error.code);
        if (outcome !== 'busy') return { n, outcome };
      }
    };

    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, n) => put(n)));

    const winners = outcomes.filter(({ outcome }) => outcome === 'committed');
    assert.equal(winners.length, 1);
    assert.equal(outcomes.filter(({ outcome }) => outcome === 'login-taken').length, 49);
    assert.equal(await counter(table, wanted), winners[0]?.n);
    await forget(table, wanted);
  },

  async 'a transaction is made once for a token, however often it comes'(table) {
    const at = key('replay');
    const token = randomUUID();
    for (let times = 0; times < 5; times++) await table.transact([add(at, 1)], token);

    assert.equal(await counter(table, at), 1);
    await assert.rejects(table.transact([add(at, 2)], token), { name: 'IdempotentParameterMismatchException' });
    await table.transact([add(at, 1)], randomUUID());
    assert.equal(await counter(table, at), 2);
    await forget(table, at);
  },

  async 'of a transaction with one broken condition nothing is made'(table) {
    const [first, taken, last] = [key('first'), key('taken'), key('last')];
    await table.transact([add(taken, 1)], randomUUID());
    const writes: Write[] = [add(first, 1), claim(taken, {}, 'retry'), add(last, 1)];

    await assert.rejects(table.transact(writes, randomUUID()), { name: 'TransactionCanceledException' });

    assert.deepEqual(await Promise.all([first, taken, last].map((at) => counter(table, at))), [
      undefined,
      1,
      undefined,
    ]);
    await forget(table, taken);
  },

  async 'of 20 that add to a number at once, none is lost'(table) {
    const at = key('sum');
    const increase = async () => {
      while ((await commit(table, [add(at, 1)])) !== 'committed');
    };

    await Promise.all(Array.from({ length: 20 }, increase));

    assert.equal(await counter(table, at), 20);
    await forget(table, at);
  },
};
