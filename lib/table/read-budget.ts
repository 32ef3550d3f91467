import { Failure } from '../failure.ts';
import { change, type Decision } from './change.ts';
import { readBudgetKey } from './keys.ts';
import type { Table } from './table.ts';
import { type Condition, put } from './write.ts';

/*
 * Lists read many items under one partition key, from which logins and changes read too, and DynamoDB serves 3,000 read
 * units a second under one key. So each caller has a budget for lists: a fraction of that, which a caller who repeats the
 * most expensive list cannot exceed. docs/list-costs.md has what lists cost.
 */

/** Read units that a caller can spend a second for long, and at once; a decryption by KMS counts as one. */
const UNITS_PER_SECOND = 500;
const BURST = 2000;
/** What costs no more is not counted: counting it would cost as much. */
export const FREE_UNITS = 3;
/** How long a request waits for its turn; a caller who is further ahead is rejected. Milliseconds. */
const LONGEST_WAIT = 3000;
/** How much longer the item is kept than it matters; seconds. */
const MARGIN = 60;

/** Pays for a read before it is made. Waits while the caller has spent too much, and fails with read-budget-spent. */
export type Spend = (units: number) => Promise<void>;

/** What a caller has spent: until when it is paid back at the rate. */
interface Account {
  /** Milliseconds since 1970. */
  readonly paidBackAt: number;
}

/** The budget of the caller with this id, who spends nothing before being authorized. */
export function readBudget(table: Table, callerId: number, authorized: Promise<void> = Promise.resolve()): Spend {
  const key = readBudgetKey(callerId);
  return async (units) => {
    await authorized;
    if (units <= FREE_UNITS) return;
    const wait = await change(
      table,
      async () => (await table.get(key)) as Account | undefined,
      (account): Decision<number> => {
        const { paidBackAt, wait } = payFor(units, account, Date.now());
        const expires = Math.ceil(paidBackAt / 1000) + MARGIN;
        return { writes: [{ ...put(key, { paidBackAt, expires }), ...asRead(account) }], result: wait };
      },
    );
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  };
}

/** What is spent after a read, and how long it has to wait; milliseconds. Fails with read-budget-spent when that is too long. */
export function payFor(units: number, account: Account | undefined, now: number): { paidBackAt: number; wait: number } {
  const owedUntil = Math.max(now, account?.paidBackAt ?? 0);
  const wait = Math.max(0, owedUntil - now - (BURST / UNITS_PER_SECOND) * 1000);
  if (wait > LONGEST_WAIT) throw new Failure('read-budget-spent', { retryAfter: Math.ceil(wait / 1000) });
  return { paidBackAt: owedUntil + Math.ceil((units / UNITS_PER_SECOND) * 1000), wait };
}

function asRead(account: Account | undefined): Condition {
  if (!account) return { condition: 'attribute_not_exists(pk)', otherwise: 'reload' };
  return {
    condition: '#paidBackAt = :paidBackAt',
    names: { '#paidBackAt': 'paidBackAt' },
    values: { ':paidBackAt': account.paidBackAt },
    otherwise: 'reload',
  };
}
