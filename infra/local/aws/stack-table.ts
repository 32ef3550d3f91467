import { CreateTableCommand, DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { OPERATOR } from '../state/operator.ts';
import { ENGINE_REGION } from './engine.ts';

export interface TableProperties {
  readonly TableName: string;
  /** Undefined for a table that the stack has adopted. */
  readonly KeySchema?: { AttributeName: string; KeyType: 'HASH' | 'RANGE' }[];
  readonly AttributeDefinitions?: { AttributeName: string; AttributeType: 'S' | 'N' | 'B' }[];
  readonly OnDemandThroughput?: { MaxReadRequestUnits?: number; MaxWriteRequestUnits?: number };
  readonly SSESpecification?: { KMSMasterKeyId?: string };
  readonly Tags?: { Key: string; Value: string }[];
}

export async function createTable(
  endpoint: string,
  region: string,
  table: TableProperties,
): Promise<void> {
  const { TableName, KeySchema, AttributeDefinitions } = table;
  if (!KeySchema) return;
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  await client
    .send(
      new CreateTableCommand({
        TableName,
        KeySchema,
        AttributeDefinitions,
        BillingMode: 'PAY_PER_REQUEST',
      }),
    )
    .catch((error: Error) => {
      if (error.name !== 'ResourceInUseException') throw error;
    });
  client.destroy();
}

export async function deleteTable(endpoint: string, { TableName }: TableProperties): Promise<void> {
  const client = new DynamoDBClient({ endpoint, region: ENGINE_REGION, credentials: OPERATOR });
  await client.send(new DeleteTableCommand({ TableName }));
  client.destroy();
}
