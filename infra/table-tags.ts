import { DescribeTableCommand, type DynamoDBClient, ListTagsOfResourceCommand } from '@aws-sdk/client-dynamodb';

/** The tags of a table by their keys. The stack records the ARNs of its KMS keys in them. */
export async function tagsOf(
  client: DynamoDBClient,
  tableName: string,
): Promise<Map<string | undefined, string | undefined>> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
  const { Tags = [] } = await client.send(new ListTagsOfResourceCommand({ ResourceArn: Table?.TableArn }));
  return new Map(Tags.map(({ Key, Value }) => [Key, Value]));
}
