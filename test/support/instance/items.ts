import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Cloud } from '../../../infra/local/cloud.ts';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import { VERIFIED_ATTRIBUTES } from '../../../lib/operations/integrity/find-defect.ts';
import { verifyTable } from '../../../lib/operations/integrity/verify-table.ts';
import { totalKey } from '../../../lib/table/item-kind.ts';
import { entityKey } from '../../../lib/table/keys.ts';
import { readsPartition, WINDOW_MS } from '../../../lib/table/read-budget.ts';
import type { Item, Table } from '../../../lib/table/table.ts';
import { openTableScanner, scannerClient } from '../../../lib/table/table-scanner.ts';
import { windowCounter } from '../../../lib/table/window-counter.ts';
import { EXISTS, set } from '../../../lib/table/write.ts';
import type { User } from '../../../lib/users/user.ts';
import type { Gatehouse } from './launch.ts';

/* The items of an instance, read and written without its functions. */

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

/** The items besides those that count requests, including rejected ones. */
export const itemsBesidesCounts = async (cloud: Cloud): Promise<[string, Item][]> =>
  [...(await itemsOf(cloud))].filter(([name]) => !/^(ATTEMPTS|READS)#/.test(name));

/** Items per request, by the limit of BatchWriteItem. */
const BATCH_ITEMS_MAX = 25;

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
  while (writes.length > 0) {
    const RequestItems = { [table]: writes.splice(0, BATCH_ITEMS_MAX) };
    const { UnprocessedItems } = await client.send(new BatchWriteCommand({ RequestItems }));
    // Throttled writes are returned as unprocessed.
    writes.push(...(UnprocessedItems?.[table] ?? []));
  }
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

export async function expectIntact({ cloud }: Pick<Gatehouse, 'cloud'>): Promise<void> {
  const { endpoint, region, tableName } = cloud;
  const client = scannerClient({ endpoint, region, credentials: OPERATOR });
  const scanner = openTableScanner(VERIFIED_ATTRIBUTES, tableName, client);
  const { findings, undecided } = await verifyTable(scanner).finally(() => client.destroy());
  assert.deepEqual(
    [...findings.map(({ message }) => message), ...undecided],
    [],
    'findings of the verification',
  );
}

export async function readsOf(table: Table, userId: number): Promise<number> {
  const counts = await table.query(readsPartition(userId));
  return counts.reduce((sum, { n }) => sum + Number(n), 0);
}

/** Changes attributes of a user, without a new version. */
export async function setUser(table: Table, id: number, attributes: Partial<User>): Promise<void> {
  const updated = await table.update(set(entityKey('USER', id), attributes, EXISTS));
  assert.ok(updated, `User ${id} exists`);
}

/** Forgets what a caller has read, as a long pause does. */
export async function forgetReads(table: Table, userId: number): Promise<void> {
  for (const { pk, sk } of await table.query(readsPartition(userId)))
    await table.transact([{ act: 'Delete', key: { pk, sk } }], randomUUID());
}

/** Lets a caller have read these units in the present window, and in the next as well. */
export async function setReads(table: Table, userId: number, n: number): Promise<void> {
  const present = windowCounter(readsPartition(userId), WINDOW_MS);
  await forgetReads(table, userId);
  await table.transact([present.add(n), present.next().add(n)], randomUUID());
}

/** Fills the table up to this many users of typical size. */
export async function fillUsers({ cloud, table }: Gatehouse, size: number): Promise<void> {
  const from = Number((await table.get(totalKey('USER')))?.n) + 1;
  const ids = Array.from({ length: Math.max(0, size - from + 1) }, (_, n) => from + n);
  const writes = ids.map((id) => ({ PutRequest: { Item: typicalUser(id) } }));
  await writeAll(clientOf(cloud), cloud.tableName, writes);
  await table.update(set(totalKey('USER'), { n: size }));
}

const typicalUser = (id: number) => ({
  ...entityKey('USER', id),
  id,
  version: '1-a',
  login: `user-${id}`,
  email: `user-${id}@example.com`,
  langKey: 'en',
  activated: true,
  authorities: ['ROLE_USER'],
  passwordChanges: 0,
  passwordHash: 'x'.repeat(140),
  firstName: 'Anna Katharina',
  lastName: `Musterfrau-${id % 97}`,
  createdBy: 'admin',
  createdDate: '2026-01-01T00:00:00.000Z',
  lastModifiedBy: 'admin',
  lastModifiedDate: '2026-01-01T00:00:00.000Z',
});
