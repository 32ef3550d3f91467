import { randomUUID } from 'node:crypto';
import { put } from '../../../lib/table/write.ts';
import type { Gatehouse } from './gatehouse.ts';
import { itemsOf } from './items.ts';

/**
 * Lets the waits of all logins last a minute longer. A slow machine takes as long as a wait of a
 * few seconds until it makes the next attempt.
 */
export async function prolongWaits({ cloud, table }: Gatehouse): Promise<void> {
  for (const { pk, sk, ...attributes } of (await itemsOf(cloud)).values())
    if (pk.startsWith('ATTEMPTS#') && /^(NETWORK|ELSEWHERE)/.test(sk) && Number(attributes.n) >= 10)
      await table.transact(
        [put({ pk, sk }, { ...attributes, last: Date.now() + 60_000 })],
        randomUUID(),
      );
}
