import type { OperationCall } from './aws-call.ts';

/** An IAM action on one item; a Query has a partition key but no sort key. */
interface Action {
  readonly action: string;
  /** The table name, followed by `/index/` and the index name if an index is queried. */
  readonly table: string;
  readonly pk: string;
  readonly sk?: string | undefined;
}

type Input = Record<string, unknown>;
type Attributes = Record<string, { S?: string } | undefined>;

/** The actions of a DynamoDB call on items; none of Scan, BatchWriteItem and others. */
export function actionsOf({ operation, input }: OperationCall): Action[] {
  const actionOn = (action: string, { TableName, Key, Item }: Input): Action => {
    const { pk, sk } = (Key ?? Item) as Attributes;
    return { action: `dynamodb:${action}`, table: String(TableName), pk: pk?.S ?? '', sk: sk?.S };
  };
  switch (operation) {
    case 'GetItem':
    case 'PutItem':
    case 'UpdateItem':
    case 'DeleteItem':
      return [actionOn(operation, input)];
    case 'BatchGetItem':
      return Object.entries(input.RequestItems as Record<string, { Keys: Input[] }>).flatMap(
        ([TableName, { Keys }]) => Keys.map((Key) => actionOn(operation, { TableName, Key })),
      );
    case 'TransactWriteItems':
    case 'TransactGetItems':
      return (input.TransactItems as Record<string, Input>[]).flatMap((member) =>
        Object.entries(member).map(([act, parts]) => actionOn(`${act}Item`, parts)),
      );
    case 'Query': {
      const { KeyConditionExpression, ExpressionAttributeValues, TableName, IndexName } = input;
      const [, value = ''] = /\bpk = (:\w+)/.exec(String(KeyConditionExpression)) ?? [];
      const { [value]: pk } = ExpressionAttributeValues as Attributes;
      const table = `${TableName}${IndexName ? `/index/${IndexName}` : ''}`;
      return [{ action: 'dynamodb:Query', table, pk: pk?.S ?? '' }];
    }
    default:
      return [];
  }
}

export const isWrite = (operation: string): boolean =>
  ['TransactWriteItems', 'PutItem', 'UpdateItem', 'DeleteItem'].includes(operation);

/** Whether a pattern, whose only wildcard is an asterisk at its end, matches a text. */
export const isLike = (text: string, pattern: string): boolean =>
  pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
