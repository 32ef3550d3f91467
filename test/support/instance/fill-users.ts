import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchWriteCommand,
  type BatchWriteCommandInput,
  DynamoDBDocumentClient,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import { totalKey } from '../../../lib/table/counters.ts';
import { entityKey } from '../../../lib/table/keys.ts';
import type { Gatehouse } from './gatehouse.ts';

/** Fills the table up to this many users of typical size. */
export async function fillUsers({ cloud, table }: Gatehouse, size: number): Promise<void> {
  const { endpoint, region, tableName } = cloud;
  const client = DynamoDBDocumentClient.from(
    new DynamoDBClient({ endpoint, region, credentials: OPERATOR }),
  );
  const from = Number((await table.get(totalKey('USER')))?.n) + 1;
  const date = '2026-01-01T00:00:00.000Z';
  const userWith = (id: number) => ({
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
    createdDate: date,
    lastModifiedBy: 'admin',
    lastModifiedDate: date,
  });
  for (let start = from; start <= size; start += 25) {
    const ids = Array.from({ length: Math.min(25, size - start + 1) }, (_, n) => start + n);
    let RequestItems: BatchWriteCommandInput['RequestItems'] = {
      [tableName]: ids.map((id) => ({ PutRequest: { Item: userWith(id) } })),
    };
    // Throttled requests are returned as unprocessed.
    while (Object.keys(RequestItems ?? {}).length > 0)
      RequestItems = (await client.send(new BatchWriteCommand({ RequestItems }))).UnprocessedItems;
  }
  await client.send(
    new UpdateCommand({
      TableName: tableName,
      Key: totalKey('USER'),
      UpdateExpression: 'SET #n = :n',
      ExpressionAttributeNames: { '#n': 'n' },
      ExpressionAttributeValues: { ':n': size },
    }),
  );
}
