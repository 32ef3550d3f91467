import { setTimeout as wait } from 'node:timers/promises';
import { actionsOf, isWrite } from '../calls/actions.ts';
import type { AwsResponse } from '../calls/aws-call.ts';

/*
 * The embedded engine makes one transaction after the other and so never cancels one for meeting another. DynamoDB
 * does: while a transaction is under way, whoever names one of its items is refused, condition checks included.
 */

/** Lets a write pass to the engine, or refuses it as DynamoDB would because of one that is under way. */
export function transactionsInFlight(holdFor = 0) {
  const held = new Map<string, string>();

  return async function pass(
    operation: string,
    input: Record<string, unknown>,
    forward: () => Promise<AwsResponse>,
  ): Promise<AwsResponse> {
    if (!isWrite(operation)) return forward();
    const items = actionsOf({ operation, input }).map(({ table, pk, sk }) => JSON.stringify([table, pk, sk]));
    const meets = items.map((item) => held.has(item));
    if (operation !== 'TransactWriteItems') return meets.includes(true) ? CONFLICT : forward();

    const token = String(input.ClientRequestToken);
    if (items.some((item) => held.get(item) === token)) return IN_PROGRESS;
    if (meets.includes(true)) return cancelled(meets);

    for (const item of items) held.set(item, token);
    try {
      if (holdFor > 0) await wait(holdFor);
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
/** How a single write is refused that meets a transaction under way. */
export const CONFLICT: AwsResponse = {
  status: 400,
  body: { __type: `${TYPE}TransactionConflictException`, message: 'Transaction is ongoing for the item' },
};

/** How a transaction is refused whose members at these positions meet another one. */
export const cancelled = (meets: readonly boolean[]): AwsResponse =>
  transactionCanceled(
    meets.map((conflict) =>
      conflict ? { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' } : { Code: 'None' },
    ),
  );

/** How a transaction is refused for these reasons, one for each of its members. */
export function transactionCanceled(reasons: readonly { Code: string; Message?: string }[]): AwsResponse {
  const codes = reasons.map(({ Code }) => Code).join(', ');
  return {
    status: 400,
    body: {
      __type: `${TYPE}TransactionCanceledException`,
      Message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
      CancellationReasons: reasons,
    },
  };
}
