import type { Meter } from '../calls/aws-call.ts';
import type { Admit } from './admission.ts';
import { itemId, storedItems, writesOf } from './call-items.ts';
import { bytesAfterUpdate, itemBytes, readUnits, writeUnits } from './item-size.ts';
import type { Demand } from './throughput.ts';

/** The period in which DynamoDB recognizes a ClientRequestToken. */
const TOKEN_VALID_MS = 10 * 60 * 1000;

/** Meters writes, whose cost is known from the stored items before they are made. */
export function meterWrites(admit: Admit, now: () => number): Meter {
  const transactions = committedTransactions(now);
  return async (call, forward, batchGetItem) => {
    const { operation, input } = call;
    const writes = writesOf(call);
    const stored = await storedItems(writes, batchGetItem);
    const transactional = operation === 'TransactWriteItems';
    const token = transactional ? (input.ClientRequestToken as string | undefined) : undefined;
    const isCommitted = token !== undefined && transactions.has(token);
    const demands = writes.map((write): Demand => {
      const before = stored.get(itemId(write));
      const { table, pk } = write;
      // DynamoDB only reads the items when the token belongs to a committed transaction.
      if (isCommitted)
        return { kind: 'Read', table, pk, units: readUnits(itemBytes(before), 'transactional') };
      const after = write.update ? bytesAfterUpdate(write.update, before) : itemBytes(write.item);
      return {
        kind: 'Write',
        table,
        pk,
        units: writeUnits(Math.max(itemBytes(before), after), transactional),
      };
    });
    const response = await admit(call, demands, forward);
    if (token !== undefined && !isCommitted && response.status === 200) transactions.add(token);
    return response;
  };
}

/** The ClientRequestTokens of the transactions that DynamoDB would recognize. */
function committedTransactions(now: () => number) {
  /** The commit times by token, oldest first. */
  const commitTimes = new Map<string, number>();
  const isRecent = (time: number | undefined): boolean =>
    time !== undefined && time > now() - TOKEN_VALID_MS;
  return {
    has: (token: string): boolean => isRecent(commitTimes.get(token)),
    add(token: string): void {
      for (const [other, committedAt] of commitTimes) {
        if (isRecent(committedAt)) break;
        commitTimes.delete(other);
      }
      commitTimes.set(token, now());
    },
  };
}
