import { Failure } from '../contract/failure.ts';
import { logError } from '../runtime/log.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { Key } from './keys.ts';
import { type Item, LIST_UNITS_MAX, type Table } from './table.ts';
import { readBudgetKey } from './table-items.ts';
import type { Write } from './write.ts';

/*
 * Lists and large parameters are read under partition keys that logins and changes read too, and
 * DynamoDB serves 3,000 read units per second for one partition key. Each account therefore has a
 * token bucket that holds a fraction of that. While it is empty, its callers are rejected before
 * anything is read but the bucket, the caller's user and a total. No request waits for the bucket,
 * because a waiting request occupies an execution. docs/list-costs.md lists the costs.
 */

/** How fast a bucket is refilled, and how much it holds. A decryption by KMS counts as one unit. */
const UNITS_PER_SECOND = 500;
const BURST_UNITS = 2000;
/** Up to 4 units are free: charging them, a write, would cost as much as reading them. */
export const FREE_UNITS = 4;
/** How many times a charge is tried that competes with others of the same account. */
const TRIES_MAX = 5;
/** How long the item is kept after everything is paid back. */
const TTL_MARGIN_SECONDS = 60;

/** How long it takes to pay back these units. */
const paybackMs = (units: number): number => Math.ceil((units / UNITS_PER_SECOND) * 1000);
const BURST_MS = paybackMs(BURST_UNITS);
/** The largest debt is what the most expensive list costs. */
const DEBT_MS_MAX = paybackMs(LIST_UNITS_MAX);

/** The caller that is charged for reads. */
export interface ChargedCaller {
  readonly id: number;
  requireAuthorized(): Promise<void>;
}

/** The read budget of a caller. Call `requireUnspent` first: it reads the bucket. */
export interface ReadBudget {
  /**
   * Reads the bucket and these items in one call. Fails with read-budget-spent and `retryAfter` in
   * seconds while the bucket is empty, and as `requireAuthorized` does.
   */
  requireUnspent(keys?: readonly Key[]): Promise<(Item | undefined)[]>;
  /**
   * Charges what a read is expected to cost, before it. Returns the charged units: none if the read
   * is free. Fails with read-budget-spent and `retryAfter`, and with unavailable.
   */
  spend(units: number): Promise<number>;
  /**
   * Charges what a read has cost beyond the charged units, unless that is free. Never fails: the
   * read is done.
   */
  settle(units: number): Promise<void>;
}

/** Opens the read budget of a caller. */
export function readBudget(table: Table, caller: ChargedCaller): ReadBudget {
  const key = readBudgetKey(caller.id);
  let paidBackAt = 0;

  async function requireUnspent(keys: readonly Key[] = []) {
    const [, [item, ...items]] = await settleAll([
      caller.requireAuthorized(),
      table.getAll([key, ...keys]),
    ]);
    paidBackAt = (item?.paidBackAt as number | undefined) ?? 0;
    const debt = paidBackAt - Date.now() - BURST_MS;
    if (debt > 0) throw new Failure('read-budget-spent', { retryAfter: Math.ceil(debt / 1000) });
    return items;
  }

  /** Applies the first write whose condition holds. Returns whether there was one. */
  async function applyFirst(...writes: readonly Write[]): Promise<boolean> {
    for (const write of writes) if (await table.update(write)) return true;
    return false;
  }

  return {
    requireUnspent,
    async spend(units) {
      if (units <= FREE_UNITS) return 0;
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const now = Date.now();
        const { toFull, toPartlySpent } = chargesOf(key, units, now);
        const further = toPartlySpent(BURST_MS);
        if (await (paidBackAt < now ? applyFirst(toFull, further) : applyFirst(further, toFull)))
          return units;
        // Concurrent requests of the account have charged the bucket since it was read.
        await requireUnspent();
      }
      throw new Failure('unavailable');
    },
    async settle(units) {
      if (units <= FREE_UNITS) return;
      const { cost, toFull, toPartlySpent, toMaximum } = chargesOf(key, units, Date.now());
      const charged = applyFirst(toFull, toPartlySpent(BURST_MS + DEBT_MS_MAX - cost), toMaximum);
      await charged.catch((error) => logError('readNotCharged', error));
    },
  };
}

/**
 * The writes that charge a bucket: at most one of them applies. The bucket is stored as the time at
 * which everything taken from it is paid back (the generic cell rate algorithm).
 */
function chargesOf(key: Key, units: number, now: number) {
  const cost = Math.min(paybackMs(units), DEBT_MS_MAX);
  const maximum = now + BURST_MS + DEBT_MS_MAX;
  const common = {
    act: 'Update',
    key,
    names: { '#paidBackAt': 'paidBackAt', '#expires': 'expires' },
  } as const;
  const values = { ':expires': Math.ceil(maximum / 1000) + TTL_MARGIN_SECONDS };

  // Stryker disable StringLiteral,ObjectLiteral,ArithmeticOperator: test/api/read-budget.test.ts
  // applies these expressions on a real engine.
  const toFull: Write = {
    ...common,
    update: 'SET #paidBackAt = :paidBackAt, #expires = :expires',
    condition: 'attribute_not_exists(#paidBackAt) OR #paidBackAt < :now',
    values: { ...values, ':paidBackAt': now + cost, ':now': now },
  };
  /** Applies while at most `spentMs` are to be paid back. */
  const toPartlySpent = (spentMs: number): Write => ({
    ...common,
    update: 'SET #paidBackAt = #paidBackAt + :cost, #expires = :expires',
    condition: '#paidBackAt BETWEEN :now AND :latest',
    values: { ...values, ':cost': cost, ':now': now, ':latest': now + spentMs },
  });
  const toMaximum: Write = {
    ...common,
    update: 'SET #paidBackAt = :maximum, #expires = :expires',
    condition: '#paidBackAt < :maximum',
    values: { ...values, ':maximum': maximum },
  };
  // Stryker restore all
  return { cost, toFull, toPartlySpent, toMaximum };
}
