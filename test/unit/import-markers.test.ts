import { expect, it } from 'vitest';
import { importMarkerKey } from '../../lib/operations/import-marker.ts';
import { copyMarkers, findMissingMarkers } from '../../lib/operations/restore/import-markers.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { inMemoryScanner } from '../support/doubles/in-memory-scanner.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';

const entity = (kind: 'USER' | 'INTEGRATION', id: number): Item => ({ ...entityKey(kind, id), id });
const marker = (kind: 'USER' | 'INTEGRATION', hash: string, id: unknown): Item => ({
  ...importMarkerKey(kind, hash),
  id,
});
const keyOf = ({ pk, sk }: Item) => ({ pk, sk });

const deletedUser = marker('USER', 'deleted', 8);
const deletedIntegration = marker('INTEGRATION', 'deleted', 8);
const noted = marker('USER', 'noted', 1);
const restoredItems = [entity('USER', 1), entity('USER', 2), marker('USER', 'before', 2)];
const originalItems = [
  ...[entity('USER', 1), entity('USER', 9), entity('INTEGRATION', 9)],
  ...[deletedUser, deletedIntegration, noted],
  // Imported with --again, and deleted once more.
  marker('USER', 'before', 10),
  marker('USER', 'created', 9),
  marker('INTEGRATION', 'created', 9),
  marker('USER', 'damaged', 'nine'),
];

it('findMissingMarkers leaves out those of records that only the original has', async () => {
  const [table, original] = [memoryTable(restoredItems), memoryTable(originalItems)];

  const progress: number[] = [];
  const missing = await findMissingMarkers(
    table,
    original,
    inMemoryScanner(originalItems),
    (items) => progress.push(items),
  );

  expect(progress).toEqual(originalItems.map((_, index) => index + 1));
  expect(missing).toEqual([deletedUser, deletedIntegration, noted]);
});

it('copyMarkers replaces no marker', async () => {
  const table = memoryTable([marker('USER', 'noted', 7)]);

  const { id, ...key } = marker('USER', 'meanwhile', 7);
  table.concurrent.push([{ act: 'Put', key: keyOf(key), attributes: { id } }]);

  await copyMarkers(table, [marker('USER', 'meanwhile', 8)]);
  await copyMarkers(table, [deletedUser, noted]);

  expect(table.find(keyOf(deletedUser))).toEqual(deletedUser);
  expect(table.find(keyOf(key))?.id).toBe(7);
  expect(table.find(keyOf(noted))?.id).toBe(7);
});
