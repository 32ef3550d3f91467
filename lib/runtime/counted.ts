/** A count with its noun, such as `1 user` or `2 users`. */
export const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
