import { isDeepStrictEqual } from 'node:util';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Cloud } from '../../../infra/local/cloud.ts';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import type { Item } from '../../../lib/table/table.ts';

/** All items of a table by their keys. */
export type Items = ReadonlyMap<string, Item>;

const clients = new WeakMap<Cloud, DynamoDBDocumentClient>();
/** One client per cloud: each new one would cost as much as a call. */
function clientOf(cloud: Cloud): DynamoDBDocumentClient {
  const { endpoint, region } = cloud;
  const client =
    clients.get(cloud) ??
    DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint, region, credentials: OPERATOR }));
  clients.set(cloud, client);
  return client;
}

/** Reads all items of the table. */
export async function itemsOf(cloud: Cloud): Promise<Items> {
  const client = clientOf(cloud);
  const items = new Map<string, Item>();
  let next: Record<string, unknown> | undefined;
  do {
    const page = await client.send(
      new ScanCommand({
        TableName: cloud.tableName,
        ConsistentRead: true,
        ...(next && { ExclusiveStartKey: next }),
      }),
    );
    for (const item of page.Items ?? []) items.set(`${item.pk} ${item.sk}`, item as Item);
    next = page.LastEvaluatedKey;
  } while (next);
  return items;
}

/** Items per request, by the limit of BatchWriteItem. */
const BATCH_ITEMS_MAX = 25;

/** Restores the table to the given items. */
export async function restoreItems(cloud: Cloud, start: Items): Promise<void> {
  const { tableName: TableName } = cloud;
  const client = clientOf(cloud);
  const now = await itemsOf(cloud);
  const added = [...now].filter(([name]) => !start.has(name)).map(([, item]) => item);
  const changed = [...start]
    .filter(([name, item]) => !isDeepStrictEqual(now.get(name), item))
    .map(([, item]) => item);
  const writes = [
    ...added.map(({ pk, sk }) => ({ DeleteRequest: { Key: { pk, sk } } })),
    ...changed.map((Item) => ({ PutRequest: { Item } })),
  ];
  await writeAll(client, TableName, writes);
}

async function writeAll(client: DynamoDBDocumentClient, table: string, writes: object[]) {
  while (writes.length > 0)
    await client.send(
      new BatchWriteCommand({ RequestItems: { [table]: writes.splice(0, BATCH_ITEMS_MAX) } }),
    );
}

/** Creates a table with these items, and with none of the settings that a restore does not copy. */
export async function createTable(
  cloud: Cloud,
  TableName: string,
  items: Items,
  KMSMasterKeyId: string,
): Promise<void> {
  const client = clientOf(cloud);
  await client.send(
    new CreateTableCommand({
      TableName,
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({
        AttributeName,
        AttributeType: 'S',
      })),
      BillingMode: 'PAY_PER_REQUEST',
      SSESpecification: { Enabled: true, SSEType: 'KMS', KMSMasterKeyId },
    }),
  );
  const writes = [...items.values()].map((Item) => ({ PutRequest: { Item } }));
  await writeAll(client, TableName, writes);
}
