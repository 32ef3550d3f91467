import { isDeepStrictEqual } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Cloud } from '../../infra/local/cloud.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import type { Item } from '../../lib/table/table.ts';

/** All items of a table as they were at one moment, by their keys. */
export type Items = ReadonlyMap<string, Item>;

const clientOf = ({ endpoint, region }: Cloud) => new DynamoDBClient({ endpoint, region, credentials: OPERATOR });

export async function itemsOf(cloud: Cloud): Promise<Items> {
  const client = clientOf(cloud);
  const items = new Map<string, Item>();
  let next: Record<string, unknown> | undefined;
  do {
    const page = await DynamoDBDocumentClient.from(client).send(
      new ScanCommand({ TableName: cloud.tableName, ConsistentRead: true, ...(next && { ExclusiveStartKey: next }) }),
    );
    for (const item of page.Items ?? []) items.set(`${item.pk} ${item.sk}`, item as Item);
    next = page.LastEvaluatedKey;
  } while (next);
  client.destroy();
  return items;
}

const LARGEST_BATCH = 25;

/** Puts the table back to how it was. */
export async function putBack(cloud: Cloud, start: Items): Promise<void> {
  const { tableName: TableName } = cloud;
  const client = clientOf(cloud);
  const documents = DynamoDBDocumentClient.from(client);
  const now = await itemsOf(cloud);
  const strange = [...now].filter(([name]) => !start.has(name)).map(([, item]) => item);
  const changed = [...start].filter(([name, item]) => !isDeepStrictEqual(now.get(name), item)).map(([, item]) => item);
  const writes = [
    ...strange.map(({ pk, sk }) => ({ DeleteRequest: { Key: { pk, sk } } })),
    ...changed.map((Item) => ({ PutRequest: { Item } })),
  ];
  while (writes.length > 0) {
    await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: writes.splice(0, LARGEST_BATCH) } }));
  }
  client.destroy();
}
