import {
  DescribeTableCommand,
  type DynamoDBClient,
  ListTagsOfResourceCommand,
  type TableDescription,
} from '@aws-sdk/client-dynamodb';
import { NOT_FROM_AWS } from '../../lib/table/not-from-aws.ts';

/** The tags of a table by their names. The stack records the ARNs of its KMS keys in them. */
export async function tagsOf(client: DynamoDBClient, TableName: string) {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  if (!Table) throw new Error(NOT_FROM_AWS);
  return listTags(client, Table);
}

/** The tags of a table, without those of AWS itself, which cannot be set. */
export async function listTags(client: DynamoDBClient, { TableArn }: TableDescription) {
  const tags: Record<string, string> = {};
  let NextToken: string | undefined;
  do {
    const page = await client.send(
      new ListTagsOfResourceCommand({ ResourceArn: TableArn, NextToken }),
    );
    for (const { Key = '', Value = '' } of page.Tags ?? [])
      if (!Key.startsWith('aws:')) tags[Key] = Value;
    NextToken = page.NextToken;
  } while (NextToken);
  return tags;
}
