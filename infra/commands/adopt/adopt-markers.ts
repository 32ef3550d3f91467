import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  copyMarkers,
  findMissingMarkers,
  MARKER_ATTRIBUTES,
} from '../../../lib/restore/import-markers.ts';
import { type Item, openTable, type Table } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { print, reportProgress } from '../command-line.ts';
import type { OriginalWishes } from './adopt-accounts.ts';

/** The import markers of the original that the restored table lacks. */
export async function missingMarkers(
  client: DynamoDBClient,
  tableName: string,
  { name }: OriginalWishes,
) {
  return findMissingMarkers(
    openTable(tableName, client),
    openTable(name, client),
    openTableScanner(MARKER_ATTRIBUTES, name, client),
    reportProgress('item', ' of the original read'),
  );
}

/**
 * Copies import markers of the original with `apply`, and prints how many are copied or would be.
 */
export async function carryMarkersOver(
  table: Table,
  { name, apply }: OriginalWishes,
  markers: readonly Item[],
) {
  if (apply) await copyMarkers(table, markers);
  print(
    `Import markers ${apply ? 'copied from' : 'that --apply would copy from'} ${name}: ` +
      `${markers.length}`,
  );
}
