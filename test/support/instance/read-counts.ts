import { randomUUID } from 'node:crypto';
import { readsPartition, WINDOW_MS } from '../../../lib/table/read-budget.ts';
import type { Table } from '../../../lib/table/table.ts';
import { windowCounter } from '../../../lib/table/window-counter.ts';

/** The read units of a caller that are stored, of all windows. */
export async function readsOf(table: Table, userId: number): Promise<number> {
  const counts = await table.query(readsPartition(userId));
  return counts.reduce((sum, { n }) => sum + Number(n), 0);
}

/** Forgets what a caller has read, as a long pause does. */
export async function forgetReads(table: Table, userId: number): Promise<void> {
  for (const { pk, sk } of await table.query(readsPartition(userId)))
    await table.transact([{ act: 'Delete', key: { pk, sk } }], randomUUID());
}

/** Lets a caller have read these units in the present window, and in the next as well. */
export async function setReads(table: Table, userId: number, n: number): Promise<void> {
  const present = windowCounter(readsPartition(userId), WINDOW_MS);
  await forgetReads(table, userId);
  await table.transact([present.add(n), present.next().add(n)], randomUUID());
}
