import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { withGuard } from '../../../lib/table/format.ts';
import { openTableWith } from '../../../lib/table/open-table.ts';
import type { Table } from '../../../lib/table/table.ts';

export const OPERATOR = { accessKeyId: 'operator', secretAccessKey: 'local' };

export interface ServedTable {
  readonly endpoint: string;
  readonly region: string;
  readonly tableName: string;
}

export function operatorsTable({ endpoint, region, tableName }: ServedTable): Table {
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  return withGuard(openTableWith(tableName, client));
}
