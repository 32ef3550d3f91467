import {
  DescribeTableCommand,
  type DynamoDBClient,
  ListTagsOfResourceCommand,
  type TableDescription,
} from '@aws-sdk/client-dynamodb';
import { KMSClient } from '@aws-sdk/client-kms';
import { formatKey, requireReadable, withGuard } from '../../lib/table/format.ts';
import { openTableWith } from '../../lib/table/open-table.ts';
import type { Table } from '../../lib/table/table.ts';
import { PATIENT_SETTINGS, scannerClient } from '../../lib/table/table-scanner.ts';
import { NOT_FROM_AWS, NotGatehouseTable } from '../../lib/table/wrong-table.ts';
import { requireAwsEnvironment, requireKnownAccount } from './account.ts';
import { namingTable } from './explain-error.ts';

export interface TableConnection {
  readonly tableName: string;
  readonly client: DynamoDBClient;
  readonly table: Table;
  close(): Promise<void>;
}

/** A table and the clients that reach it; without settings, as the operator's environment says. */
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

/** Opens a table, local or deployed. Fails as `openReadableTable` does. */
export async function openTable({ tableName, settings }: TableLocation): Promise<TableConnection> {
  if (!settings) {
    requireAwsEnvironment();
    await requireKnownAccount();
  }
  const client = scannerClient(settings);
  const table = await openReadableTable(tableName, client);
  return { tableName, client, table, close: async () => client.destroy() };
}

/** Stores the format before the first write. Throws if the table is newer, or cannot be read. */
export async function openReadableTable(name: string, client: DynamoDBClient): Promise<Table> {
  const table = openTableWith(name, client);
  try {
    requireReadable(await table.get(formatKey));
  } catch (error) {
    // The key of the item has not the form of the keys of that table.
    const isOther = error instanceof Error && error.name === 'ValidationException';
    return namingTable(name)(isOther ? new NotGatehouseTable() : error);
  }
  return withGuard(table);
}

/** Opens the table of a stack, and the KMS keys that the stack records in tags of the table. */
export async function openStackTable(location: TableLocation) {
  const { tableName, client, table, close } = await openTable(location);
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
    /** The first one is for new hashes. */
    pepperKeys: keyIn('gatehouse:pepper-key').split(' '),
    valuesKey: keyIn('gatehouse:values-key'),
    kms,
    async close() {
      await close();
      kms.destroy();
    },
  };
}

/**
 * The tags of a table, in which the stack records the ARNs of its KMS keys, without tags of AWS
 * itself, which cannot be set.
 */
export async function listTags(client: DynamoDBClient, { TableArn }: TableDescription) {
  const tags: Record<string, string> = {};
  let NextToken: string | undefined;
  do {
    const page = await client.send(
      new ListTagsOfResourceCommand({ ResourceArn: TableArn, NextToken }),
    );
    for (const { Key = '', Value = '' } of page.Tags ?? [])
      if (!Key.startsWith('aws:')) tags[Key] = Value;
    NextToken = page.NextToken;
  } while (NextToken);
  return tags;
}
