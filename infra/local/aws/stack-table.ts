import { CreateTableCommand, DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { OPERATOR } from '../state/operator.ts';

/** The properties of a table in the template that have a meaning on this machine. */
export interface TableProperties {
  readonly TableName: string;
  /** Undefined for a table that the stack has adopted. */
  readonly KeySchema?: { AttributeName: string; KeyType: 'HASH' | 'RANGE' }[];
  readonly AttributeDefinitions?: { AttributeName: string; AttributeType: 'S' | 'N' | 'B' }[];
  readonly OnDemandThroughput?: { MaxReadRequestUnits?: number; MaxWriteRequestUnits?: number };
  readonly SSESpecification?: { KMSMasterKeyId?: string };
  readonly Tags?: { Key: string; Value: string }[];
}

/** Creates the table of a stack unless it exists or the stack has adopted it. */
export async function createTable(
  endpoint: string,
  region: string,
  { TableName, KeySchema, AttributeDefinitions }: TableProperties,
): Promise<void> {
  if (!KeySchema) return;
  const table = { TableName, KeySchema, AttributeDefinitions };
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  await client
    .send(new CreateTableCommand({ ...table, BillingMode: 'PAY_PER_REQUEST' }))
    .catch((error: Error) => {
      if (error.name !== 'ResourceInUseException') throw error;
    })
    .finally(() => client.destroy());
}

/** Deletes the table of a stack. */
export async function deleteTable(
  endpoint: string,
  region: string,
  { TableName }: TableProperties,
): Promise<void> {
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  await client.send(new DeleteTableCommand({ TableName }));
  client.destroy();
}
