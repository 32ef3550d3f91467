import { Failure } from '../contract/failure.ts';
import { sleep } from '../runtime/sleep.ts';
import { type Key, readBudgetKey } from './keys.ts';
import type { Table } from './table.ts';
import type { Write } from './write.ts';

/*
 * Lists read many items under one partition key, which logins and changes read too, and DynamoDB serves 3,000 read
 * units per second for one partition key. Each caller therefore has a budget for lists: a fraction of that limit, which
 * even a caller that repeats the most expensive list cannot exceed. docs/list-costs.md lists the costs.
 */

/** Read units that a caller can spend: sustained, and in a burst. A decryption by KMS counts as one unit. */
const UNITS_PER_SECOND = 500;
const BURST_UNITS = 2000;
/** Reads of up to 3 units are free: charging them would cost as much as the reads. */
export const FREE_UNITS = 3;
/** How long a request waits for its budget; a caller that would have to wait longer is rejected. */
const MAX_WAIT_MS = 3000;
/** How long the item is kept after everything is paid back. */
const TTL_MARGIN_SECONDS = 60;

/** Charges read units before a read. Waits while the budget is exceeded; fails with read-budget-spent. */
export type SpendUnits = (units: number) => Promise<void>;

/** The burst, as the time in which it is paid back. */
const BURST_MS = (BURST_UNITS / UNITS_PER_SECOND) * 1000;
/** How many times a payment is tried that competes with other payments of the same caller. */
const MAX_TRIES = 5;

/** The caller that is charged for reads. */
export interface ChargedCaller {
  readonly id: number;
  requireAuthorized(): Promise<void>;
}

/**
 * The read budget of a caller. Nothing is spent before the caller is authorized. Fails with read-budget-spent and
 * `retryAfter` in seconds, with unavailable, or as `requireAuthorized` does.
 */
export function readBudget(table: Table, caller: ChargedCaller): SpendUnits {
  const key = readBudgetKey(caller.id);
  return async (units) => {
    await caller.requireAuthorized();
    if (units <= FREE_UNITS) return;
    const wait = await pay(table, key, Math.ceil((units / UNITS_PER_SECOND) * 1000));
    if (wait > 0) await sleep(wait);
  };
}

/**
 * Adds the cost of a read, as the time in which it is paid back, and returns how long to wait before the read; all in
 * milliseconds. Updates outside of a transaction, so that parallel requests of one caller do not conflict.
 */
async function pay(table: Table, key: Key, cost: number): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const now = Date.now();
    if (await table.update(firstPayment(key, cost, now))) return 0;
    const added = await table.update(furtherPayment(key, cost, now));
    if (added) return Math.max(0, (added.paidBackAt as number) - cost - now - BURST_MS);
    const paidBackAt = ((await table.get(key))?.paidBackAt as number | undefined) ?? 0;
    const wait = paidBackAt - now - BURST_MS;
    if (wait > MAX_WAIT_MS) throw new Failure('read-budget-spent', { retryAfter: Math.ceil(wait / 1000) });
  }
  throw new Failure('unavailable');
}

const names = { '#paidBackAt': 'paidBackAt', '#expires': 'expires' };

/** Applies if everything is paid back. */
function firstPayment(key: Key, cost: number, now: number): Write {
  return {
    act: 'Update',
    key,
    update: 'SET #paidBackAt = :paidBackAt, #expires = :expires',
    condition: 'attribute_not_exists(#paidBackAt) OR #paidBackAt < :now',
    names,
    values: { ':paidBackAt': now + cost, ':now': now, ':expires': expiry(now + cost) },
  };
}

/** Applies if something is not paid back yet and the wait does not exceed MAX_WAIT_MS. */
function furtherPayment(key: Key, cost: number, now: number): Write {
  const latest = now + BURST_MS + MAX_WAIT_MS;
  return {
    act: 'Update',
    key,
    update: 'SET #paidBackAt = #paidBackAt + :cost, #expires = :expires',
    condition: '#paidBackAt BETWEEN :now AND :latest',
    names,
    values: { ':cost': cost, ':now': now, ':latest': latest, ':expires': expiry(latest + cost) },
  };
}

const expiry = (milliseconds: number): number => Math.ceil(milliseconds / 1000) + TTL_MARGIN_SECONDS;
