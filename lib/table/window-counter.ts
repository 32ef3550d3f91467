import type { Key } from './keys.ts';
import type { Write } from './write.ts';

/** How long a counter is kept after its window, to tolerate clock skew and queued requests. */
const TTL_MARGIN_SECONDS = 60;

/** The window of a time: its number, its end, and when items about it expire, in seconds. */
export function windowAt(time: number, windowMs: number) {
  const number = Math.floor(time / windowMs);
  const endMs = (number + 1) * windowMs;
  return { number, endMs, expires: Math.ceil(endMs / 1000) + TTL_MARGIN_SECONDS };
}

/** What is counted for an account in the present window of time, in an item of its own. */
export interface WindowCounter {
  readonly key: Key;
  /** Adds an amount; with `max`, on condition that the sum does not exceed it or is the first. */
  add(amount: number, max?: number): Write;
  /** The time until the next window, in whole seconds. */
  secondsLeft(): number;
  /** The counter of the next window. */
  next(): WindowCounter;
}

/** The counter in this partition for the present window, or for the window of another time. */
export function windowCounter(pk: string, windowMs: number, time = Date.now()): WindowCounter {
  const { number, endMs, expires } = windowAt(time, windowMs);
  const key = { pk, sk: String(number) };
  return {
    key,
    add: (amount, max) => ({
      act: 'Update',
      key,
      update: 'ADD #n :amount SET #expires = :expires',
      names: { '#n': 'n', '#expires': 'expires' },
      values: {
        ':amount': amount,
        ':expires': expires,
        ...(max !== undefined && { ':rest': max - amount }),
      },
      ...(max !== undefined && { condition: 'attribute_not_exists(#n) OR #n <= :rest' }),
    }),
    // A request that has taken longer than its window may try again at once.
    secondsLeft: () => Math.max(1, Math.ceil((endMs - Date.now()) / 1000)),
    next: () => windowCounter(pk, windowMs, endMs),
  };
}
