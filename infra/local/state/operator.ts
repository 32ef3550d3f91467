import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { withGuard } from '../../../lib/table/format.ts';
import { openTableWith } from '../../../lib/table/open-table.ts';
import type { Table } from '../../../lib/table/table.ts';

/** The credentials of every caller of the local cloud other than a function. */
export const OPERATOR = { accessKeyId: 'operator', secretAccessKey: 'local' };

/** The table that a local cloud serves. */
export interface ServedTable {
  readonly endpoint: string;
  readonly region: string;
  readonly tableName: string;
}

/** Opens the table of a local cloud with the operator's credentials. */
export function operatorsTable({ endpoint, region, tableName }: ServedTable): Table {
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  return withGuard(openTableWith(tableName, client));
}
