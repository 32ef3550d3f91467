import { Failure } from '../contract/failure.ts';
import { currentDeadline, setDeadline } from '../runtime/execution-environment.ts';
import { logError } from '../runtime/log.ts';
import { isOutage } from '../runtime/outage.ts';
import type { Key } from '../table/keys.ts';
import { logMailNotSent } from './deliver-mail.ts';
import {
  type BatchResponse,
  type Invocation,
  parseRecord,
  type StreamRecord,
} from './stream-record.ts';

/** A mail that is begun with less time left could be cut off after SES has accepted it. */
const DURATION_MAX_MS = 20_000;

/**
 * Delivers the mails of a batch of stream records, one after another. A mail that fails for a
 * reason that may pass is handed over again, after which the recipient's later mails follow: the
 * order within a recipient stays. Any other failure is logged, raises the alarm and leaves the item
 * in the table, for an operator to send again: it must not delay the mails behind it.
 */
export async function deliverBatch(
  { Records }: { readonly Records: readonly StreamRecord[] },
  { getRemainingTimeInMillis }: Invocation,
  deliver: (key: Key) => Promise<void>,
): Promise<BatchResponse> {
  setDeadline(getRemainingTimeInMillis());
  const failed: { itemIdentifier: string }[] = [];
  const waitingRecipients = new Set<string>();
  for (const { key, itemIdentifier } of Records.map(parseRecord)) {
    const hasTime = Date.now() + DURATION_MAX_MS < currentDeadline();
    const isDelivered =
      hasTime && !waitingRecipients.has(key.pk) && (await tryToDeliver(key, deliver));
    if (isDelivered) continue;
    waitingRecipients.add(key.pk);
    failed.push({ itemIdentifier });
  }
  return { batchItemFailures: failed };
}

/** Whether the mail needs no further attempt. */
async function tryToDeliver(key: Key, deliver: (key: Key) => Promise<void>): Promise<boolean> {
  try {
    await deliver(key);
    return true;
  } catch (error) {
    const isTransient =
      isOutage(error) || (error instanceof Failure && error.code === 'unavailable');
    if (isTransient) logError('mailDelayed', (error as Error).cause ?? error);
    else logMailNotSent(error);
    return !isTransient;
  }
}
