import { mapConcurrently } from '../../runtime/settle-all.ts';
import { loadDecideCommit } from '../../table/change.ts';
import { entityKey } from '../../table/keys.ts';
import type { Item, Table } from '../../table/table.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import { claim } from '../../table/write.ts';
import { findDefect } from '../integrity/find-defect.ts';
import { ITEMS } from '../item-kinds.ts';

/*
 * A restored table lacks the import markers that were written since the backup. Without them, a
 * repeated import would create again what was deleted in the original, with its former password.
 */

/** The attributes of a marker, which the scanner must return. */
export const MARKER_ATTRIBUTES = ['id'];

const CONCURRENT_MARKERS_MAX = 16;

const isMarker = (item: Item): boolean =>
  [ITEMS.importedUser, ITEMS.importedIntegration].some(({ owns }) => owns(item));

/**
 * The import markers of the original that the restored table lacks. Markers of accounts and
 * integrations that only the original has are left out, so that a repeated import brings these
 * back. Damaged markers are also left out. `scanner` reads the original.
 */
export async function findMissingMarkers(
  table: Table,
  original: Table,
  scanner: TableScanner,
  onProgress: (items: number) => void = () => undefined,
): Promise<readonly Item[]> {
  const markers: Item[] = [];
  let read = 0;
  for await (const items of scanner.scan()) {
    for (const item of items) {
      onProgress(++read);
      if (isMarker(item) && !findDefect(item)) markers.push(item);
    }
  }
  const areMissing = await mapConcurrently(
    markers,
    CONCURRENT_MARKERS_MAX,
    async ({ pk, sk, id }) => {
      if (await table.get({ pk, sk })) return false;
      const entity = entityKey(sk as 'USER' | 'INTEGRATION', id as number);
      return !(await original.get(entity)) || (await table.get(entity)) !== undefined;
    },
  );
  return markers.filter((_, index) => areMissing[index]);
}

/** Copies import markers into the restored table, except those that it has received meanwhile. */
export async function copyMarkers(table: Table, markers: readonly Item[]): Promise<void> {
  await mapConcurrently(markers, CONCURRENT_MARKERS_MAX, ({ pk, sk, id }) =>
    loadDecideCommit(
      table,
      () => table.get({ pk, sk }),
      (existing) => ({
        writes: existing ? [] : [claim({ pk, sk }, { id }, 'retry')],
        result: undefined,
      }),
    ),
  );
}
