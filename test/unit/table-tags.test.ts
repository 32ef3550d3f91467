import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { listTags } from '../../infra/commands/table-tags.ts';
import { scriptedClient } from '../support/doubles/scripted-client.ts';

it('the tags of a table are read page by page, without the tags of AWS itself', async () => {
  const { settings, inputs } = scriptedClient(
    { Tags: [{ Key: 'team', Value: 'a' }], NextToken: 'more' },
    {
      Tags: [
        { Key: 'aws:cloudformation:stack-name', Value: 'Gate' },
        { Key: 'gatehouse:values-key', Value: 'b' },
      ],
    },
  );

  const tags = await listTags(new DynamoDBClient(settings), { TableArn: 'arn:of-gate' });

  expect(tags).toEqual({ team: 'a', 'gatehouse:values-key': 'b' });
  expect(inputs()).toEqual([
    { ResourceArn: 'arn:of-gate' },
    { ResourceArn: 'arn:of-gate', NextToken: 'more' },
  ]);
});
