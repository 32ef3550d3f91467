import type { OperationCall } from './aws-call.ts';

/** An IAM action on one item; a Query has a partition key but no sort key. */
interface Action {
  readonly action: string;
  /** The table name, followed by `/index/` and the index name if an index is queried. */
  readonly table: string;
  readonly pk: string;
  readonly sk?: string | undefined;
  /** The top-level attributes that the parameters name, in the item, the key or an expression. */
  readonly attributes: readonly string[];
}

type Input = Record<string, unknown>;
type Attributes = Record<string, { S?: string } | undefined>;

const EXPRESSION = /Expression$/;
/** Placeholders, names, values, numbers, and what follows a dot or is followed by a parenthesis. */
const TOKENS = /[#:.]*\w+(?:\s*\()?/g;
const KEYWORDS = /^(SET|REMOVE|ADD|DELETE|AND|OR|NOT|IN|BETWEEN)$/i;

function attributesIn(input: Input): string[] {
  const names = (input.ExpressionAttributeNames ?? {}) as Record<string, string>;
  return Object.keys(input)
    .filter((parameter) => EXPRESSION.test(parameter))
    .flatMap((parameter) => String(input[parameter]).match(TOKENS) ?? [])
    .filter((token) => !/^[:.\d]|\($/.test(token) && !KEYWORDS.test(token))
    .map((token) => names[token] ?? token);
}

/** The actions of a DynamoDB call on items; none of Scan, BatchWriteItem and others. */
export function actionsOf({ operation, input }: OperationCall): Action[] {
  const actionOn = (action: string, { TableName, Key, Item, ...parts }: Input): Action => {
    const named = (Key ?? Item) as Attributes;
    const { pk, sk } = named;
    return {
      action: `dynamodb:${action}`,
      table: String(TableName),
      pk: pk?.S ?? '',
      sk: sk?.S,
      attributes: [...new Set([...Object.keys(named), ...attributesIn(parts)])],
    };
  };
  switch (operation) {
    case 'GetItem':
    case 'PutItem':
    case 'UpdateItem':
    case 'DeleteItem':
      return [actionOn(operation, input)];
    case 'BatchGetItem':
      return Object.entries(input.RequestItems as Record<string, { Keys: Input[] }>).flatMap(
        ([TableName, { Keys, ...parts }]) =>
          Keys.map((Key) => actionOn(operation, { TableName, Key, ...parts })),
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
      const attributes = [...new Set(attributesIn(input))];
      return [{ action: 'dynamodb:Query', table, pk: pk?.S ?? '', attributes }];
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
