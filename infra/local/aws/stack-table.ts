import type { CreateTableInput, Tag } from '@aws-sdk/client-dynamodb';
import type { AwsResponse, OperationCall } from '../calls/aws-call.ts';
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

/**
 * The settings of tables that an engine lacks, in memory: tags, point-in-time recovery and streams,
 * which slow the embedded engine down. Does not respond to other calls.
 */
export function tableSettings(
  stackTable: () => TableProperties,
  forward: (operation: string, body: string) => Promise<AwsResponse>,
) {
  const tags = new Map<string, Map<string | undefined, Tag>>();
  const recoverable = new Set<string>();
  const streams = new Map<string, (tableArn: string) => object>();

  return async ({ operation, input }: OperationCall): Promise<AwsResponse | undefined> => {
    const { ResourceArn, TableName, StreamSpecification } = input;
    const name = String(TableName ?? String(ResourceArn).split('/').at(-1));
    switch (operation) {
      case 'ListTagsOfResource': {
        const stack = stackTable();
        const Tags = name === stack.TableName ? (stack.Tags ?? []) : [];
        return { status: 200, body: { Tags: [...Tags, ...(tags.get(name)?.values() ?? [])] } };
      }
      case 'TagResource': {
        const tagged = tags.get(name) ?? new Map<string | undefined, Tag>();
        for (const tag of input.Tags as Tag[]) tagged.set(tag.Key, tag);
        tags.set(name, tagged);
        return { status: 200, body: {} };
      }
      case 'UpdateContinuousBackups':
        recoverable.add(name);
        return { status: 200, body: {} };
      case 'DescribeContinuousBackups': {
        const PointInTimeRecoveryStatus = recoverable.has(name) ? 'ENABLED' : 'DISABLED';
        const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus };
        const body = { ContinuousBackupsDescription: { PointInTimeRecoveryDescription } };
        return { status: 200, body };
      }
      case 'UpdateTable': {
        if (!StreamSpecification) return undefined;
        const label = new Date().toISOString().slice(0, -1);
        streams.set(name, (tableArn) => ({
          StreamSpecification,
          LatestStreamArn: `${tableArn}/stream/${label}`,
        }));
        return { status: 200, body: {} };
      }
      case 'DescribeTable': {
        const response = await forward(operation, JSON.stringify(input));
        const { Table } = JSON.parse(String(response.body));
        if (!Table) return response;
        const stream = streams.get(name)?.(Table.TableArn);
        return { status: 200, body: { Table: { ...Table, ...stream } } };
      }
      case 'DeleteTable':
        streams.delete(name);
        return undefined;
      default:
        return undefined;
    }
  };
}
