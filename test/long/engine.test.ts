import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import type { Key } from '../../lib/table/keys.ts';
import { add, claim, type Write } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/* The guarantees of DynamoDB that every race test relies on, and local engines have violated. */

const { table } = await useGatehouse();

const newKey = (name: string): Key => ({ pk: `ENGINE-RULES#${name}`, sk: randomUUID() });
const counterOf = async (key: Key) => (await table.get(key))?.n;
async function deleteItems(...keys: Key[]): Promise<void> {
  const deletions = keys.map((key): Write => ({ act: 'Delete', key }));
  await table.transact(deletions, randomUUID());
}

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
  await deleteItems(key);
});

it('a transaction takes effect once per client request token', async () => {
  const key = newKey('replay');
  const token = randomUUID();
  for (let times = 0; times < 5; times++) await table.transact([add(key, 1)], token);

  assert.equal(await counterOf(key), 1);
  await assert.rejects(table.transact([add(key, 2)], token), {
    name: 'IdempotentParameterMismatchException',
  });
  await table.transact([add(key, 1)], randomUUID());
  assert.equal(await counterOf(key), 2);
  await deleteItems(key);
});

it('a transaction with one failed condition has no effect', async () => {
  const [first, taken, last] = [newKey('first'), newKey('taken'), newKey('last')];
  await table.transact([add(taken, 1)], randomUUID());
  const writes: Write[] = [add(first, 1), claim(taken, {}, 'retry'), add(last, 1)];

  await assert.rejects(table.transact(writes, randomUUID()), {
    name: 'TransactionCanceledException',
  });

  assert.deepEqual(await Promise.all([first, taken, last].map((key) => counterOf(key))), [
    undefined,
    1,
    undefined,
  ]);
  await deleteItems(taken);
});

it('none of 20 concurrent additions is lost', async () => {
  const key = newKey('sum');
  const increase = async () => {
    while ((await commit(table, [add(key, 1)])) !== 'committed');
  };

  await Promise.all(Array.from({ length: 20 }, increase));

  assert.equal(await counterOf(key), 20);
  await deleteItems(key);
});
