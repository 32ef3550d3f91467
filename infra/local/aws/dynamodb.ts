import { actionsOf, isWrite } from '../calls/actions.ts';
import { type AwsResponse, errorResponse, type OperationCall } from '../calls/aws-call.ts';
import { callEngine } from './engine.ts';
import { tableSettings } from './stack-table.ts';

/** The engine with the rules of DynamoDB that it lacks. */
export function openDynamoDb(
  engineUrl: string,
  stackTable: Parameters<typeof tableSettings>[0],
  onCommitted: (call: OperationCall) => void,
) {
  const forward = (operation: string, body: string) => callEngine(engineUrl, operation, body);
  const respondAboutSettings = tableSettings(stackTable, forward);
  const forwardUnlessConflicting = detectConflicts();

  return async (call: OperationCall): Promise<AwsResponse> => {
    const { operation, input } = call;
    const aboutSettings = await respondAboutSettings(call);
    if (aboutSettings) return aboutSettings;
    const response = await forwardUnlessConflicting(operation, input, () =>
      forward(operation, JSON.stringify(input)),
    );
    if (response.status === 200) onCommitted(call);
    return response;
  };
}

/*
 * The embedded engine serializes transactions, so they never conflict. DynamoDB rejects any write
 * to an item of a transaction in progress, condition checks included.
 */

/** Rejects what DynamoDB would reject, and forwards other calls. BatchWriteItem is not checked. */
export function detectConflicts() {
  /** The ClientRequestToken of the transaction in progress, by item. */
  const held = new Map<string, string>();

  return async function forwardUnlessConflicting(
    operation: string,
    input: OperationCall['input'],
    forward: () => Promise<AwsResponse>,
  ): Promise<AwsResponse> {
    if (!isWrite(operation)) return forward();
    const items = actionsOf({ operation, input }).map(({ table, pk, sk }) =>
      JSON.stringify([table, pk, sk]),
    );
    const conflicts = items.map((item) => held.has(item));
    if (operation !== 'TransactWriteItems') return conflicts.includes(true) ? CONFLICT : forward();

    const token = String(input.ClientRequestToken);
    if (items.some((item) => held.get(item) === token)) return IN_PROGRESS;
    if (conflicts.includes(true)) return canceledByConflict(conflicts);

    for (const item of items) held.set(item, token);
    try {
      return await forward();
    } finally {
      for (const item of items) held.delete(item);
    }
  };
}

export const dynamoDbError = (name: string, message: string): AwsResponse =>
  errorResponse(`com.amazonaws.dynamodb.v20120810#${name}`, message);

const MESSAGE = 'Transaction is ongoing for the item';
const IN_PROGRESS = dynamoDbError(
  'TransactionInProgressException',
  'The transaction with the given request token is already in progress.',
);
export const CONFLICT = dynamoDbError('TransactionConflictException', MESSAGE);

/** The response to a transaction whose items at the `true` positions conflict with another one. */
export const canceledByConflict = (conflicts: readonly boolean[]): AwsResponse =>
  transactionCanceled(
    conflicts.map((conflict) =>
      conflict ? { Code: 'TransactionConflict', Message: MESSAGE } : { Code: 'None' },
    ),
  );

/** The response to a cancelled transaction, with one reason per item. */
function transactionCanceled(CancellationReasons: readonly { Code: string }[]): AwsResponse {
  const codes = CancellationReasons.map(({ Code }) => Code).join(', ');
  const { status, body } = dynamoDbError(
    'TransactionCanceledException',
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
  );
  return { status, body: { ...(body as object), CancellationReasons } };
}
