export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[Math.ceil(sorted.length / 2) - 1],
    sorted[middle],
  ];
  return (low + high) / 2;
}

/** The smallest of some ascending numbers that at least this share of them does not exceed. */
export const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN;
