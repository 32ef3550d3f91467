import { randomUUID } from 'node:crypto';
import { put } from '../../../lib/table/write.ts';
import type { Gatehouse } from './gatehouse.ts';
import { itemsOf } from './items.ts';

/**
 * Moves the last failures of all logins to this many seconds ago. A time to come lets a wait last:
 * a slow machine needs as long as a wait of a few seconds to make the next attempt.
 */
export async function lastFailedAgo(
  { cloud, table }: Pick<Gatehouse, 'cloud' | 'table'>,
  seconds: number,
): Promise<void> {
  for (const { pk, sk, ...attributes } of (await itemsOf(cloud)).values())
    if (pk.startsWith('ATTEMPTS#') && /^(NETWORK|ELSEWHERE)/.test(sk)) {
      const moved = { ...attributes, last: Date.now() - seconds * 1000 };
      await table.transact([put({ pk, sk }, moved)], randomUUID());
    }
}
