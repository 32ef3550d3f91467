import { Failure } from '../contract/failure.ts';
import { logError } from '../runtime/log.ts';
import { sleep } from '../runtime/sleep.ts';
import { type Key, readBudgetKey } from './keys.ts';
import type { Table } from './table.ts';
import type { Write } from './write.ts';

/*
 * Lists read many items under one partition key, which logins and changes read too, and DynamoDB serves 3,000 read
 * units per second for one partition key. Each caller therefore has a budget for lists: a fraction of that limit. A
 * list is charged by its expected cost before it is read, and by the rest afterwards, so that a caller that repeats
 * the most expensive list exceeds the budget only until the first ones have been read. docs/list-costs.md lists the
 * costs.
 */

/** Read units that a caller can spend: sustained, and in a burst. A decryption by KMS counts as one unit. */
const UNITS_PER_SECOND = 500;
const BURST_UNITS = 2000;
/** Reads of up to 3 units are free: charging them would cost as much as the reads. */
export const FREE_UNITS = 3;
/** How long a request waits for its budget; a caller that would have to wait longer is rejected. */
const MAX_WAIT_MS = 3000;
/** Debt is recorded up to an hour: what a list costs beyond its estimate is charged even if the budget is exceeded. */
const MAX_DEBT_MS = 3_600_000;
/** How long the item is kept after everything is paid back. */
const TTL_MARGIN_SECONDS = 60;

/**
 * Charges the expected read units before a read. Waits while the budget is exceeded; fails with read-budget-spent.
 * Returns the function that charges the rest afterwards.
 */
export type SpendUnits = (units: number) => Promise<SettleUnits>;

/** Charges what a read has cost beyond its expected units. Neither waits nor fails, because the read is done. */
type SettleUnits = (excess: number) => Promise<void>;

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
    const wait = units > FREE_UNITS ? await pay(table, key, units, MAX_WAIT_MS) : 0;
    if (wait > 0) await sleep(wait);
    return async (excess) => {
      if (excess <= FREE_UNITS) return;
      await pay(table, key, excess, MAX_DEBT_MS).catch((error) => logError('readNotCharged', error));
    };
  };
}

/**
 * Adds the cost of a read, as the time in which it is paid back, and returns how long to wait before the read, in
 * milliseconds; fails if that exceeds `maxWait`. Updates outside of a transaction, so that parallel requests of one
 * caller do not conflict.
 */
async function pay(table: Table, key: Key, units: number, maxWait: number): Promise<number> {
  const cost = Math.ceil((units / UNITS_PER_SECOND) * 1000);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const now = Date.now();
    if (await table.update(firstPayment(key, cost, now))) return 0;
    const added = await table.update(furtherPayment(key, cost, now, maxWait));
    if (added) return Math.max(0, (added.paidBackAt as number) - cost - now - BURST_MS);
    const paidBackAt = ((await table.get(key))?.paidBackAt as number | undefined) ?? 0;
    const wait = paidBackAt - now - BURST_MS;
    if (wait > maxWait) throw new Failure('read-budget-spent', { retryAfter: Math.ceil(wait / 1000) });
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

/** Applies if something is not paid back yet and the wait does not exceed `maxWait`. */
function furtherPayment(key: Key, cost: number, now: number, maxWait: number): Write {
  const latest = now + BURST_MS + maxWait;
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
