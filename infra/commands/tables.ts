import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { KMSClient } from '@aws-sdk/client-kms';
import { NOT_FROM_AWS } from '../../lib/table/not-from-aws.ts';
import { openTable as openTableWith, type Table } from '../../lib/table/table.ts';
import { PATIENT_SETTINGS, scannerClient } from '../../lib/table/table-scanner.ts';
import { requireAwsEnvironment } from './require-aws-environment.ts';
import { listTags } from './table-tags.ts';

/** An open connection to a table, local or deployed. */
export interface TableConnection {
  readonly tableName: string;
  readonly client: DynamoDBClient;
  readonly table: Table;
  close(): Promise<void>;
}

/** A table and the clients that reach it; without settings, those of the operator's environment. */
interface TableLocation {
  readonly tableName: string;
  readonly settings?: Parameters<typeof scannerClient>[0];
}

/** The tables of this machine, for commands without --table. */
export interface LocalTables {
  /** Opens the table of the state folder, whether or not a service runs on it. */
  open(): Promise<TableConnection>;
  /** Fails unless a service runs on the state folder. */
  ofRunningService(): TableLocation;
}

/** Opens a table, local or deployed. */
export function openTable({ tableName, settings }: TableLocation): TableConnection {
  if (!settings) requireAwsEnvironment();
  const client = scannerClient(settings);
  const table = openTableWith(tableName, client);
  return { tableName, client, table, close: async () => client.destroy() };
}

/** Opens the table of a stack, and the KMS keys that the stack records in tags of the table. */
export async function openStackTable(location: TableLocation) {
  const { tableName, client, table, close } = openTable(location);
  const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
  if (!Table) throw new Error(NOT_FROM_AWS);
  const tags = await listTags(client, Table);
  const keyIn = (tag: string): string => {
    if (tags[tag]) return tags[tag];
    throw new Error(`${tableName} lacks the tag ${tag}. Deploy its stack again, or add the tag.`);
  };
  const kms = new KMSClient({ ...PATIENT_SETTINGS, ...location.settings });
  return {
    tableName,
    client,
    table,
    /** The first one is that of new hashes. */
    pepperKeys: keyIn('gatehouse:pepper-key').split(' '),
    valuesKey: keyIn('gatehouse:values-key'),
    kms,
    async close() {
      await close();
      kms.destroy();
    },
  };
}
