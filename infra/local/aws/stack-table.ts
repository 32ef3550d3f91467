import { callEngine } from './engine.ts';

/** The properties of a table in the template that have a meaning on this machine. */
export interface TableProperties {
  readonly TableName: string;
  /** Undefined for a table that the stack has adopted. */
  readonly KeySchema?: { AttributeName: string; KeyType: 'HASH' | 'RANGE' }[];
  readonly AttributeDefinitions?: { AttributeName: string; AttributeType: 'S' | 'N' | 'B' }[];
  readonly OnDemandThroughput?: { MaxReadRequestUnits?: number; MaxWriteRequestUnits?: number };
  readonly SSESpecification?: { KMSMasterKeyId?: string };
  readonly Tags?: Tag[];
}

export type Tag = { readonly Key: string; readonly Value: string };

/** Creates the table of a stack in an engine unless it exists or the stack has adopted it. */
export async function createTable(
  engineUrl: string,
  { TableName, KeySchema, AttributeDefinitions }: TableProperties,
): Promise<void> {
  if (!KeySchema) return;
  const table = { TableName, KeySchema, AttributeDefinitions, BillingMode: 'PAY_PER_REQUEST' };
  const { status, body } = await callEngine(engineUrl, 'CreateTable', JSON.stringify(table));
  if (status !== 200 && !body.includes('ResourceInUseException')) throw new Error(body);
}
