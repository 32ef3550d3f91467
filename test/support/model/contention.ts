import { DURATION_MS_MAX, FIRST_WAIT_MS, WAIT_MS_MAX } from '../../../lib/table/change.ts';
import { digits, table } from '../costs/tables.ts';
import { randomNumbers } from './seed.ts';

/*
 * Simulates changes that conflict on one item, with the waits of lib/table/change.ts, in steps of a
 * millisecond of simulated time. DynamoDB rejects a transaction on an item of another transaction
 * in progress.
 */

interface Contention {
  /** Changes per second; they arrive independently of each other. */
  readonly rate: number;
  /** How long a transaction holds the item. */
  readonly holdMs: number;
  /** How long a change reads before it commits. */
  readonly loadMs: number;
  /** Whether the change also requires that the item has not changed since it was read. */
  readonly versioned: boolean;
  readonly seconds: number;
  readonly seed: number;
}

interface ContentionResult {
  readonly changes: number;
  /** The share of changes whose first transaction was rejected. */
  readonly rejectedFirst: number;
  readonly transactionsPerSuccess: number;
  /** Durations of successful changes in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The share of changes that fail with 503. */
  readonly unavailable: number;
}

/** Simulates one item. */
export function simulate({
  rate,
  holdMs,
  loadMs,
  versioned,
  seconds,
  seed,
}: Contention): ContentionResult {
  const random = randomNumbers(seed);
  const agenda: (() => void)[][] = [];
  const at = (time: number, action: () => void) => {
    agenda[time] ??= [];
    agenda[time].push(action);
  };
  let [heldUntil, version, changes, rejectedFirst, transactions, unavailable] = [0, 0, 0, 0, 0, 0];
  const durations: number[] = [];

  const start = (arrival: number) => {
    changes++;
    let bound = FIRST_WAIT_MS;
    let timesChanged = 0;
    const attempt = (time: number, isFirst: boolean) => {
      const readVersion = version;
      at(time + loadMs, () => commit(time + loadMs, readVersion, isFirst));
    };
    const commit = (time: number, readVersion: number, isFirst: boolean) => {
      transactions++;
      const isBusy = time < heldUntil;
      const isChanged = !isBusy && versioned && version !== readVersion;
      if (!isBusy && !isChanged) {
        heldUntil = time + holdMs;
        at(heldUntil, () => {
          version++;
          durations.push(heldUntil - arrival);
        });
        return;
      }
      if (isFirst) rejectedFirst++;
      if (isChanged) timesChanged++;
      let wait = 0;
      if (isBusy || timesChanged > 1) {
        wait = Math.floor(random() * bound);
        bound = Math.min(2 * bound, WAIT_MS_MAX);
      }
      if (time + wait >= arrival + DURATION_MS_MAX) unavailable++;
      else at(time + wait, () => attempt(time + wait, false));
    };
    attempt(arrival, true);
  };

  for (let time = 0; time < seconds * 1000; time += -Math.log(1 - random()) * (1000 / rate)) {
    const arrival = Math.floor(time);
    at(arrival, () => start(arrival));
  }
  // An action may add others at the same or a later time.
  for (let time = 0; time < agenda.length; time++)
    for (const action of agenda[time] ?? []) action();

  durations.sort((a, b) => a - b);
  return {
    changes,
    rejectedFirst: rejectedFirst / changes,
    transactionsPerSuccess: transactions / durations.length,
    p50: percentile(durations, 0.5),
    p99: percentile(durations, 0.99),
    unavailable: unavailable / changes,
  };
}

const RATES = [1, 5, 10, 25, 50, 75, 100, 200];

/** The results for one item at several rates. */
export function contentionTable(options: Omit<Contention, 'rate'>): string {
  const percent = (share: number) =>
    share > 0 && share < 0.001 ? '< 0.1 %' : `${(100 * share).toFixed(1)} %`;
  return table(
    [
      'changes per second',
      'conflict with another',
      'transactions per success',
      'p50 ms',
      'p99 ms',
      '503',
    ],
    RATES.map((rate) => {
      const { rejectedFirst, transactionsPerSuccess, p50, p99, unavailable } = simulate({
        rate,
        ...options,
      });
      const numbers = [
        digits(transactionsPerSuccess),
        p50.toLocaleString('en'),
        p99.toLocaleString('en'),
      ];
      return [String(rate), percent(rejectedFirst), ...numbers, percent(unavailable)];
    }),
  );
}

/** The smallest of some ascending numbers that at least this share of them does not exceed. */
const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN;
