import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { commit } from '../../lib/table/change.ts';
import type { Table } from '../../lib/table/table.ts';
import { add, claim, type Write } from '../../lib/table/write.ts';

/*
 * The guarantees of DynamoDB that every race test relies on. Local engines have violated each of them, so tests check
 * the engine first.
 */

const key = (name: string) => ({ pk: `SELFTEST#${name}`, sk: randomUUID() });
const deleteItems = (table: Table, ...keys: { pk: string; sk: string }[]) =>
  table.transact(
    keys.map((at): Write => ({ act: 'Delete', key: at })),
    randomUUID(),
  );
const counter = async (table: Table, at: { pk: string; sk: string }) => (await table.get(at))?.n;

/** Checks by the guarantee that they verify; each fails if the engine violates it. */
export const ENGINE_RULES: Record<string, (table: Table) => Promise<void>> = {
  async 'exactly one of 50 concurrent puts of a new item succeeds'(table) {
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
    await deleteItems(table, wanted);
  },

  async 'a transaction takes effect once per client request token'(table) {
    const at = key('replay');
    const token = randomUUID();
    for (let times = 0; times < 5; times++) await table.transact([add(at, 1)], token);

    assert.equal(await counter(table, at), 1);
    await assert.rejects(table.transact([add(at, 2)], token), { name: 'IdempotentParameterMismatchException' });
    await table.transact([add(at, 1)], randomUUID());
    assert.equal(await counter(table, at), 2);
    await deleteItems(table, at);
  },

  async 'a transaction with one failed condition has no effect'(table) {
    const [first, taken, last] = [key('first'), key('taken'), key('last')];
    await table.transact([add(taken, 1)], randomUUID());
    const writes: Write[] = [add(first, 1), claim(taken, {}, 'retry'), add(last, 1)];

    await assert.rejects(table.transact(writes, randomUUID()), { name: 'TransactionCanceledException' });

    assert.deepEqual(await Promise.all([first, taken, last].map((at) => counter(table, at))), [
      undefined,
      1,
      undefined,
    ]);
    await deleteItems(table, taken);
  },

  async 'no update of 20 concurrent additions is lost'(table) {
    const at = key('sum');
    const increase = async () => {
      while ((await commit(table, [add(at, 1)])) !== 'committed');
    };

    await Promise.all(Array.from({ length: 20 }, increase));

    assert.equal(await counter(table, at), 20);
    await deleteItems(table, at);
  },
};
