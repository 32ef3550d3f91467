import * as v from 'valibot';

/** One field to sort by. */
export interface Order<F extends string = string> {
  readonly field: F;
  readonly descending: boolean;
}

/** Which part of a list is wanted, in which order. */
export interface ListQuery<F extends string = string> {
  readonly page: number;
  readonly size: number;
  readonly sort: readonly Order<F>[];
}

const DEFAULT_SIZE = 20;
export const LARGEST_PAGE = 2000;

/** A count as clients send it; nonsense and what is below the least becomes the default. */
const count = (least: number, otherwise: number) =>
  v.optional(
    v.pipe(
      v.array(v.string()),
      v.transform(([value = '']) => (/^\d{1,15}$/.test(value) && Number(value) >= least ? Number(value) : otherwise)),
    ),
    [],
  );

/**
 * The query of a list, each parameter as all of its values: `page` from 0, `size` clamped, and any number of
 * `sort=field,asc|desc`. Parameters that it does not know are nobody's business.
 */
export function listQuery<const F extends string>(sortable: readonly F[], largestPage = LARGEST_PAGE) {
  return v.object({
    page: count(0, 0),
    size: v.pipe(
      count(1, DEFAULT_SIZE),
      v.transform((size) => Math.min(size, largestPage)),
    ),
    sort: v.pipe(
      v.optional(v.array(v.string()), []),
      v.transform((values) => values.flatMap(orders)),
      v.check((sort) => sort.every(({ field }) => (sortable as readonly string[]).includes(field)), 'Pattern'),
      v.transform((sort) => sort as Order<F>[]),
    ),
  });
}

/** `login,desc` or `lastName,firstName,asc`: the direction counts for all fields before it, and ascending is the default. */
function orders(value: string): Order[] {
  const words = value
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '' && word.toLowerCase() !== 'ignorecase');
  const direction = words.at(-1)?.toLowerCase();
  const named = direction === 'asc' || direction === 'desc' ? words.slice(0, -1) : words;
  return named.map((field) => ({ field, descending: direction === 'desc' }));
}
