import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { callEngine, ENGINE_REGION } from '../../infra/local/aws/engine.ts';
import { createTable } from '../../infra/local/aws/stack-table.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { documentClient, openTableWith } from '../../lib/table/open-table.ts';
import { snapshotsOf } from '../../lib/table/snapshot.ts';
import type { Item } from '../../lib/table/table.ts';

/** Items per request, by the limit of BatchWriteItem. */
const WRITTEN_MAX = 25;

/** Creates a table in an engine of DynamoDB. */
export async function openEngineTable(url: string) {
  const TableName = `drawn-${randomUUID()}`;
  await createTable(url, {
    TableName,
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'S' },
    ],
  });
  const client = new DynamoDBClient({
    endpoint: url,
    region: ENGINE_REGION,
    credentials: OPERATOR,
  });
  const documents = documentClient(client);
  return {
    table: { ...openTableWith(TableName, client), snapshot: snapshotsOf(TableName, client) },
    async put(items: readonly Item[]): Promise<void> {
      for (let at = 0; at < items.length; at += WRITTEN_MAX) {
        const written = items.slice(at, at + WRITTEN_MAX);
        const writes = written.map((item) => ({ PutRequest: { Item: item } }));
        await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: writes } }));
      }
    },
    async items(): Promise<Item[]> {
      const items: Item[] = [];
      let from: Record<string, unknown> | undefined;
      do {
        const scan = new ScanCommand({ TableName, ExclusiveStartKey: from });
        const page = await documents.send(scan);
        items.push(...(page.Items as Item[]));
        from = page.LastEvaluatedKey;
      } while (from);
      return items;
    },
    async delete(): Promise<void> {
      client.destroy();
      await callEngine(url, 'DeleteTable', JSON.stringify({ TableName }));
    },
  };
}
