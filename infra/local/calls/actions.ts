import type { AwsCall } from './aws-call.ts';

/** What a call does to one item, as IAM names it; a query has a partition and no sort key. */
export interface Action {
  readonly action: string;
  /** Its name, with that of the index where one is read. */
  readonly table: string;
  readonly pk: string;
  readonly sk?: string | undefined;
}

type Input = Record<string, unknown>;
type Attributes = Record<string, { S?: string } | undefined>;

const MEMBERS: Record<string, string> = {
  Put: 'dynamodb:PutItem',
  Update: 'dynamodb:UpdateItem',
  Delete: 'dynamodb:DeleteItem',
  ConditionCheck: 'dynamodb:ConditionCheckItem',
};

/** What a call to the table does, item by item: a transaction and a batch do several things. Nothing for a call that names no item. */
export function actionsOf({ operation, input }: Pick<AwsCall, 'operation' | 'input'>): Action[] {
  const one = (action: string, { TableName, Key, Item }: Input): Action => {
    const { pk, sk } = (Key ?? Item) as Attributes;
    return { action, table: String(TableName), pk: pk?.S ?? '', sk: sk?.S };
  };
  switch (operation) {
    case 'GetItem':
    case 'PutItem':
    case 'UpdateItem':
    case 'DeleteItem':
      return [one(`dynamodb:${operation}`, input)];
    case 'BatchGetItem':
      return Object.entries(input.RequestItems as Record<string, { Keys: Input[] }>).flatMap(([TableName, { Keys }]) =>
        Keys.map((Key) => one('dynamodb:BatchGetItem', { TableName, Key })),
      );
    case 'TransactWriteItems':
      return (input.TransactItems as Record<string, Input>[]).flatMap((member) =>
        Object.entries(member).map(([act, parts]) => one(MEMBERS[act] ?? act, parts)),
      );
    case 'TransactGetItems':
      return (input.TransactItems as { Get: Input }[]).map(({ Get }) => one('dynamodb:GetItem', Get));
    case 'Query': {
      const [, value = ''] = /\bpk = (:\w+)/.exec(String(input.KeyConditionExpression)) ?? [];
      const table = `${input.TableName}${input.IndexName ? `/index/${input.IndexName}` : ''}`;
      return [{ action: 'dynamodb:Query', table, pk: (input.ExpressionAttributeValues as Attributes)[value]?.S ?? '' }];
    }
    default:
      return [];
  }
}

/** Whether a call writes items, one by one or all at once. */
export const isWrite = (operation: string): boolean =>
  ['TransactWriteItems', 'PutItem', 'UpdateItem', 'DeleteItem'].includes(operation);
