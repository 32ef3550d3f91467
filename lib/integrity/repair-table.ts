import { randomInt } from 'node:crypto';
import { commit } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import type { Finding } from './finding.ts';

/** How often a repair that meets other transactions is tried, and the longest wait before the next try; milliseconds. */
const TRIES = 10;
const LONGEST_WAIT = 400;

/**
 * Repairs what follows from other items, each under the conditions under which it was found, and leaves all else as it
 * is. `onRepair` is told of each before it is made. Whether all is well then, the next verification says: what somebody
 * has changed meanwhile is not repaired. Fails with unavailable, or with what the SDK throws.
 */
export async function repairTable(
  table: Table,
  findings: readonly Finding[],
  onRepair: (does: string) => void,
): Promise<void> {
  for (const { remedy } of findings) {
    if (!('writes' in remedy)) continue;
    onRepair(remedy.does);
    for (let tries = 1; (await commit(table, remedy.writes)) === 'busy' && tries < TRIES; tries++) {
      await new Promise((resolve) => setTimeout(resolve, randomInt(LONGEST_WAIT)));
    }
  }
}
