import type { CreateTableInput } from '@aws-sdk/client-dynamodb';
import { callEngine } from './engine.ts';

/** The properties of the table in the template; only the name if the stack has adopted it. */
export type TableProperties = CreateTableInput & { readonly TableName: string };

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
