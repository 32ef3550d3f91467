import { Failure } from '../contract/failure.ts';
import { type Key, readBudgetKey } from './keys.ts';
import type { Table } from './table.ts';
import type { Write } from './write.ts';

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

/** How much one caller may be ahead of paying back without having to wait; milliseconds. */
const BURST_MS = (BURST / UNITS_PER_SECOND) * 1000;
/** How often a payment is tried that meets others by the same caller. */
const TRIES = 5;

/** A caller who pays for reads. */
export interface Payer {
  readonly id: number;
  requireAuthorized(): Promise<void>;
}

/** The budget of this caller, of which nothing is spent before the caller is authorized. */
export function readBudget(table: Table, caller: Payer): Spend {
  const key = readBudgetKey(caller.id);
  return async (units) => {
    await caller.requireAuthorized();
    if (units <= FREE_UNITS) return;
    const wait = await pay(table, key, Math.ceil((units / UNITS_PER_SECOND) * 1000));
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  };
}

/**
 * Adds what a read costs, as the time in which it is paid back, to what the caller has spent; gives the time to wait before
 * it is made. Milliseconds. Updates, because the many requests of one caller must not wait for each other.
 */
async function pay(table: Table, key: Key, cost: number): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const now = Date.now();
    if (await table.update(firstPayment(key, cost, now))) return 0;
    const added = await table.update(furtherPayment(key, cost, now));
    if (added) return Math.max(0, (added.paidBackAt as number) - cost - now - BURST_MS);
    const paidBackAt = ((await table.get(key))?.paidBackAt as number | undefined) ?? 0;
    const wait = paidBackAt - now - BURST_MS;
    if (wait > LONGEST_WAIT) throw new Failure('read-budget-spent', { retryAfter: Math.ceil(wait / 1000) });
  }
  throw new Failure('unavailable');
}

const names = { '#paidBackAt': 'paidBackAt', '#expires': 'expires' };

/** By a caller who has paid back everything. */
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

/** By a caller who has not, and is not too far ahead. */
function furtherPayment(key: Key, cost: number, now: number): Write {
  const latest = now + BURST_MS + LONGEST_WAIT;
  return {
    act: 'Update',
    key,
    update: 'SET #paidBackAt = #paidBackAt + :cost, #expires = :expires',
    condition: '#paidBackAt BETWEEN :now AND :latest',
    names,
    values: { ':cost': cost, ':now': now, ':latest': latest, ':expires': expiry(latest + cost) },
  };
}

const expiry = (milliseconds: number): number => Math.ceil(milliseconds / 1000) + MARGIN;
