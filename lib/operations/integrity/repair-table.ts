import { sleepJittered } from '../../runtime/waiting.ts';
import { commit } from '../../table/change.ts';
import type { Table } from '../../table/table.ts';
import type { Finding } from './finding.ts';

/**
 * How many times a repair that conflicts with other transactions is tried, and the bound of the
 * wait between tries.
 */
const TRIES_MAX = 10;
const WAIT_MS_MAX = 400;

/**
 * Makes the writes of every remedy that has them, each in one transaction and only if the items are
 * unchanged since they were verified. `onRepair` is called before each repair. Verify again
 * afterwards: items that changed meanwhile are not repaired. Fails with unavailable, or with SDK
 * errors.
 */
export async function repairTable(
  table: Table,
  findings: readonly Finding[],
  onRepair: (description: string) => void,
): Promise<void> {
  for (const { remedy } of findings) {
    if (!('writes' in remedy)) continue;
    onRepair(remedy.description);
    for (
      let tries = 1;
      (await commit(table, remedy.writes)) === 'busy' && tries < TRIES_MAX;
      tries++
    ) {
      await sleepJittered(WAIT_MS_MAX);
    }
  }
}
