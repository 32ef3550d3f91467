import {
  DescribeTableCommand,
  type DynamoDBClient,
  ListTagsOfResourceCommand,
} from '@aws-sdk/client-dynamodb';
import { NOT_FROM_AWS } from '../../lib/table/not-from-aws.ts';

/** The tags of a table by their names. The stack records the ARNs of its KMS keys in them. */
export async function tagsOf(
  client: DynamoDBClient,
  TableName: string,
): Promise<Record<string, string>> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  if (!Table) throw new Error(NOT_FROM_AWS);
  return listTags(client, Table.TableArn);
}

/**
 * The tags of the table with this ARN. Those of AWS itself, such as CloudFormation, cannot be set
 * and are left out.
 */
export async function listTags(
  client: DynamoDBClient,
  ResourceArn: string | undefined,
): Promise<Record<string, string>> {
  const tags: Record<string, string> = {};
  let NextToken: string | undefined;
  do {
    const page = await client.send(new ListTagsOfResourceCommand({ ResourceArn, NextToken }));
    for (const { Key = '', Value = '' } of page.Tags ?? [])
      if (!Key.startsWith('aws:')) tags[Key] = Value;
    NextToken = page.NextToken;
  } while (NextToken);
  return tags;
}
