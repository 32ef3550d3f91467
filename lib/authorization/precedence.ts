import { commit } from '../table/change.ts';
import { precedenceKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { put } from '../table/write.ts';

/*
 * Every change checks the item of its caller, so a stream of changes by one user keeps that item busy. It could delay
 * the deactivation of the user by an administrator, or, with a stolen token, the reset of its password. On its first
 * conflict, such a change therefore takes precedence: for a short time all changes by that user wait before their
 * transaction.
 */

/** How long changes by the user wait. A change that still conflicts takes precedence again. */
const DURATION_MS = 1000;
/** How long the item is kept beyond that, to tolerate clock skew. */
const TTL_MARGIN_SECONDS = 60;

/** Makes changes by this user wait. Never fails: without precedence the other change is only slower. */
export async function takePrecedence(table: Table, userId: number): Promise<void> {
  const until = Date.now() + DURATION_MS;
  const expires = Math.ceil(until / 1000) + TTL_MARGIN_SECONDS;
  await commit(table, [put(precedenceKey(userId), { until, expires })]).catch(() => undefined);
}

/** How long a change by this user has to wait; milliseconds, 0 if not at all. */
export async function precedenceWait(table: Table, userId: number): Promise<number> {
  const until = ((await table.get(precedenceKey(userId)))?.until as number | undefined) ?? 0;
  return Math.min(DURATION_MS, Math.max(0, until - Date.now()));
}
