import type { AwsCall } from './aws-call.ts';

/** An IAM action on one item; a Query has a partition key but no sort key. */
export interface Action {
  readonly action: string;
  /** The table name, followed by `/index/` and the index name if an index is queried. */
  readonly table: string;
  readonly pk: string;
  readonly sk?: string | undefined;
}

type Input = Record<string, unknown>;
type Attributes = Record<string, { S?: string } | undefined>;

const TRANSACT_ACTIONS: Record<string, string> = {
  Put: 'dynamodb:PutItem',
  Update: 'dynamodb:UpdateItem',
  Delete: 'dynamodb:DeleteItem',
  ConditionCheck: 'dynamodb:ConditionCheckItem',
};

/**
 * The actions of a DynamoDB call, one per item of a transaction or batch read; empty for other
 * operations, such as Scan and BatchWriteItem.
 */
export function actionsOf({ operation, input }: Pick<AwsCall, 'operation' | 'input'>): Action[] {
  const actionOn = (action: string, { TableName, Key, Item }: Input): Action => {
    const { pk, sk } = (Key ?? Item) as Attributes;
    return { action, table: String(TableName), pk: pk?.S ?? '', sk: sk?.S };
  };
  switch (operation) {
    case 'GetItem':
    case 'PutItem':
    case 'UpdateItem':
    case 'DeleteItem':
      return [actionOn(`dynamodb:${operation}`, input)];
    case 'BatchGetItem':
      return Object.entries(input.RequestItems as Record<string, { Keys: Input[] }>).flatMap(
        ([TableName, { Keys }]) =>
          Keys.map((Key) => actionOn('dynamodb:BatchGetItem', { TableName, Key })),
      );
    case 'TransactWriteItems':
      return (input.TransactItems as Record<string, Input>[]).flatMap((member) =>
        Object.entries(member).map(([act, parts]) => actionOn(TRANSACT_ACTIONS[act] ?? act, parts)),
      );
    case 'TransactGetItems':
      return (input.TransactItems as { Get: Input }[]).map(({ Get }) =>
        actionOn('dynamodb:GetItem', Get),
      );
    case 'Query': {
      const [, value = ''] = /\bpk = (:\w+)/.exec(String(input.KeyConditionExpression)) ?? [];
      const table = `${input.TableName}${input.IndexName ? `/index/${input.IndexName}` : ''}`;
      return [
        {
          action: 'dynamodb:Query',
          table,
          pk: (input.ExpressionAttributeValues as Attributes)[value]?.S ?? '',
        },
      ];
    }
    default:
      return [];
  }
}

export const isWrite = (operation: string): boolean =>
  ['TransactWriteItems', 'PutItem', 'UpdateItem', 'DeleteItem'].includes(operation);
