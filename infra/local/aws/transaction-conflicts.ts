import { actionsOf, isWrite } from '../calls/actions.ts';
import type { AwsResponse } from '../calls/aws-call.ts';

/*
 * The embedded engine serializes transactions, so they never conflict. DynamoDB rejects any write
 * to an item of a transaction in progress, condition checks included.
 */

/**
 * Forwards calls, but rejects a write that conflicts with a transaction in progress, as DynamoDB
 * would. BatchWriteItem is not checked.
 */
export function detectConflicts() {
  /** The ClientRequestToken of the transaction in progress, by item. */
  const held = new Map<string, string>();

  return async function forwardUnlessConflicting(
    operation: string,
    input: Record<string, unknown>,
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

const TYPE = 'com.amazonaws.dynamodb.v20120810#';
const IN_PROGRESS = {
  status: 400,
  body: {
    __type: `${TYPE}TransactionInProgressException`,
    Message: 'The transaction with the given request token is already in progress.',
  },
};
export const CONFLICT: AwsResponse = {
  status: 400,
  body: {
    __type: `${TYPE}TransactionConflictException`,
    message: 'Transaction is ongoing for the item',
  },
};

export const canceledByConflict = (conflicts: readonly boolean[]): AwsResponse =>
  transactionCanceled(
    conflicts.map((conflict) =>
      conflict
        ? { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' }
        : { Code: 'None' },
    ),
  );

export function transactionCanceled(
  reasons: readonly { Code: string; Message?: string }[],
): AwsResponse {
  const codes = reasons.map(({ Code }) => Code).join(', ');
  return {
    status: 400,
    body: {
      __type: `${TYPE}TransactionCanceledException`,
      Message:
        'Transaction cancelled, please refer cancellation reasons for specific reasons ' +
        `[${codes}]`,
      CancellationReasons: reasons,
    },
  };
}
