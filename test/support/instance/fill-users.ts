import {
  BatchWriteItemCommand,
  type BatchWriteItemCommandInput,
  DynamoDBClient,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import { idText, totalKey } from '../../../lib/table/keys.ts';
import type { Gatehouse } from './gatehouse.ts';

/** Fills the table up to this many users of typical size. */
export async function fillUsers({ cloud, table }: Gatehouse, size: number): Promise<void> {
  const { endpoint, region, tableName } = cloud;
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  const from = Number((await table.get(totalKey('USER')))?.n) + 1;
  const text = (S: string) => ({ S });
  const names = (id: number) => ({
    firstName: text('Anna Katharina'),
    lastName: text(`Musterfrau-${id % 97}`),
  });
  const audit = { createdBy: text('admin'), lastModifiedBy: text('admin') };
  const dates = {
    createdDate: text('2026-01-01T00:00:00.000Z'),
    lastModifiedDate: text('2026-01-01T00:00:00.000Z'),
  };
  for (let start = from; start <= size; start += 25) {
    const ids = Array.from({ length: Math.min(25, size - start + 1) }, (_, n) => start + n);
    const requests = ids.map((id) => ({
      PutRequest: {
        Item: {
          pk: text('USER'),
          sk: text(idText(id)),
          id: { N: String(id) },
          version: { N: '1' },
          login: text(`user-${id}`),
          email: text(`user-${id}@example.com`),
          langKey: text('en'),
          activated: { BOOL: true },
          authorities: { L: [text('ROLE_USER')] },
          passwordChanges: { N: '0' },
          passwordHash: text('x'.repeat(140)),
          ...names(id),
          ...audit,
          ...dates,
        },
      },
    }));
    let RequestItems: BatchWriteItemCommandInput['RequestItems'] = { [tableName]: requests };
    // Throttled requests are returned as unprocessed.
    while (Object.keys(RequestItems ?? {}).length > 0) {
      RequestItems = (await client.send(new BatchWriteItemCommand({ RequestItems })))
        .UnprocessedItems;
    }
  }
  await client.send(
    new UpdateItemCommand({
      TableName: tableName,
      Key: { pk: text('TOTAL'), sk: text('USER') },
      UpdateExpression: 'SET #n = :n',
      ExpressionAttributeNames: { '#n': 'n' },
      ExpressionAttributeValues: { ':n': { N: String(size) } },
    }),
  );
}
