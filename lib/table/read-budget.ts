import * as v from 'valibot';
import { Failure } from '../contract/failure.ts';
import { logError } from '../runtime/log.ts';
import { settleAll } from '../runtime/waiting.ts';
import { count, type ItemDeclaration } from './item-kind.ts';
import { idText, type Key } from './keys.ts';
import { type Item, LIST_UNITS_MAX, type Table } from './table.ts';
import { windowCounter } from './window-counter.ts';

/*
 * Lists and large parameters are read under partition keys that logins and changes read too, and
 * DynamoDB serves 3,000 read units per second for one partition key. Each account may therefore
 * read a fraction of that, counted per window of time. Once it is spent, its callers are rejected
 * before anything is read but the counter, the caller's user and session, and a total. No request
 * waits for the next window, because a waiting request occupies an execution. docs/performance.md
 * has the costs.
 */

/** 512 units per second. A decryption by KMS counts as one unit. */
export const WINDOW_MS = 8000;
/** The most expensive list fits into an unused window. */
const UNITS_MAX = LIST_UNITS_MAX;
/** Up to 4 units are free: charging them, a write, would cost as much as reading them. */
export const FREE_UNITS = 4;

export const readsPartition = (userId: number): string => `READS#${idText(userId)}`;
/** Expires within minutes. */
export const readCountItem: ItemDeclaration = {
  pk: ['READS#<user id>', 'READS#<negative integration id>'],
  sk: '<window>',
  name: 'read units of an account in 8 seconds',
  attributes: () => v.object({ n: v.pipe(v.number(), v.minValue(0)), expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};

/** The caller that is charged for reads. */
export interface ChargedCaller {
  readonly id: number;
  requireAuthorized(): Promise<void>;
}

/** The read budget of a caller in the present window. Call `requireUnspent` first. */
export interface ReadBudget {
  /**
   * Reads the counter and these items in one call. Fails with read-budget-spent and `retryAfter` in
   * seconds once the budget is spent, and as `requireAuthorized` does.
   */
  requireUnspent(keys?: readonly Key[]): Promise<(Item | undefined)[]>;
  /**
   * Charges what a read is expected to cost, before it. Returns the charged units: none if the read
   * is free. Fails with read-budget-spent and `retryAfter`.
   */
  spend(units: number): Promise<number>;
  /**
   * Charges what a read has cost beyond the charged units, unless that is free. Never fails: the
   * read is done.
   */
  settle(units: number): Promise<void>;
  /** Gives back charged units that were not read, unless they are as few as free ones. Never fails. */
  refund(units: number): Promise<void>;
}

/** Opens the read budget of a caller. */
export function readBudget(table: Table, caller: ChargedCaller): ReadBudget {
  const counter = windowCounter(readsPartition(caller.id), WINDOW_MS);
  const spent = () => new Failure('read-budget-spent', { retryAfter: counter.secondsLeft() });

  /** Charges the next window with what exceeds this one: a caller could repeat it there otherwise. */
  async function charge(units: number): Promise<void> {
    const { n } = (await table.update(counter.add(units))) as Item;
    const excess = Number(n) - UNITS_MAX;
    if (excess > 0) await table.update(counter.next().add(Math.min(units, excess)));
  }

  return {
    async requireUnspent(keys = []) {
      const [, [item, ...items]] = await settleAll([
        caller.requireAuthorized(),
        table.getAll([counter.key, ...keys]),
      ]);
      if (Number(item?.n ?? 0) >= UNITS_MAX) throw spent();
      return items;
    },
    async spend(units) {
      if (units <= FREE_UNITS) return 0;
      if (!(await table.update(counter.add(units, UNITS_MAX)))) throw spent();
      return units;
    },
    async settle(units) {
      if (units <= FREE_UNITS) return;
      await charge(units).catch((error) => logError('readNotCharged', error));
    },
    async refund(units) {
      if (units <= FREE_UNITS) return;
      const refunded = counter.add(-units);
      const values = { ...refunded.values, ':units': units };
      await table
        // Never below zero: after a lost response the update is repeated.
        .update({ ...refunded, values, condition: '#n >= :units' })
        .catch((error) => logError('readNotCharged', error));
    },
  };
}
