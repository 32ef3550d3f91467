import { commit } from '../table/change.ts';
import { precedenceKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { put } from '../table/write.ts';

/*
 * Every change checks its caller's item, so an account that sends a stream of changes keeps its own item busy, and could
 * delay the change by which an administrator deactivates it. The first such change that meets another one therefore takes
 * precedence: for a moment all changes that the account makes itself wait before their transaction.
 */

/** How long changes by the account wait; milliseconds. An administrator who is still busy then asks again. */
const DURATION = 1000;
/** How long the item is kept for, beyond that: longer than clocks differ; seconds. */
const MARGIN = 60;

/** Makes the changes of this account wait. Best effort: when it fails, the change in question is only slower. */
export async function takePrecedence(table: Table, userId: number): Promise<void> {
  const until = Date.now() + DURATION;
  const expires = Math.ceil(until / 1000) + MARGIN;
  await commit(table, [put(precedenceKey(userId), { until, expires })]).catch(() => undefined);
}

/** How long changes by this account have to wait from now on; milliseconds, 0 for not at all. */
export async function precedenceWait(table: Table, userId: number): Promise<number> {
  const until = ((await table.get(precedenceKey(userId)))?.until as number | undefined) ?? 0;
  return Math.min(DURATION, Math.max(0, until - Date.now()));
}
