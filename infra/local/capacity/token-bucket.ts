export interface TokenBucket {
  available(): number;
  /**
   * May take more units than are available; the balance is then negative until it has been
   * refilled.
   */
  take(units: number): void;
  isFull(): boolean;
}

/** A bucket that is refilled at a rate, up to its capacity; `now` is in milliseconds. */
export function tokenBucket(
  ratePerSecond: number,
  capacity: number,
  now: () => number,
): TokenBucket {
  // A new bucket holds one second of capacity, because no unused capacity has accumulated.
  let units = ratePerSecond;
  let since = now();
  const available = () => {
    const time = now();
    units = Math.min(capacity, units + ((time - since) * ratePerSecond) / 1000);
    since = time;
    return units;
  };
  return {
    available,
    take(taken) {
      units = available() - taken;
    },
    isFull: () => available() === capacity,
  };
}
