import { isDeepStrictEqual } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { type Cloud, OPERATOR } from '../../infra/local/cloud.ts';
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

/** Puts the table back to how it was. */
export async function putBack(cloud: Cloud, start: Items): Promise<void> {
  const { tableName: TableName } = cloud;
  const client = clientOf(cloud);
  const documents = DynamoDBDocumentClient.from(client);
  const now = await itemsOf(cloud);
  const strange = [...now].filter(([name]) => !start.has(name)).map(([, item]) => item);
  const changed = [...start].filter(([name, item]) => !isDeepStrictEqual(now.get(name), item)).map(([, item]) => item);
  await Promise.all([
    ...strange.map(({ pk, sk }) => documents.send(new DeleteCommand({ TableName, Key: { pk, sk } }))),
    ...changed.map((Item) => documents.send(new PutCommand({ TableName, Item }))),
  ]);
  client.destroy();
}
