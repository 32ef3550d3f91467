import type { TooLong } from '../contract/failure.ts';
import type { Key, Sequence } from './keys.ts';
import type { Write } from './write.ts';

/** A stored item. operations/item-kinds.ts lists the kinds, which declare their attributes. */
export type Item = Record<string, unknown> & Key;

/** The attributes of an item without its keys. */
export function attributesOf({ pk: _pk, sk: _sk, ...attributes }: Item): Record<string, unknown> {
  return attributes;
}

/** A range of sort keys, both ends included, in ascending order unless `backwards`. */
export interface Range {
  readonly from?: string;
  readonly to?: string;
  readonly backwards?: boolean;
  /** The maximum number of items. */
  readonly limit?: number;
  /** The failure if the range exceeds the bound of a list; `list-too-long` by default. */
  readonly tooLong?: TooLong;
}

/** Receives the read units that a call has consumed. */
export type OnConsumed = (units: number) => void;

/** Bounds of a list: it is rejected beyond 10,000 items or 16 MB, at 4 KB per read unit. */
export const LIST_ITEMS_MAX = 10_000;
export const LIST_UNITS_MAX = (16 * 1024) / 4;

/**
 * The single table. Every read is strongly consistent, but two reads, and the parts of `getAll` and
 * `query`, may see only some of the writes of a transaction. Unless stated otherwise, SDK errors
 * are thrown.
 */
export interface Table {
  get(key: Key): Promise<Item | undefined>;
  /**
   * Up to 100 items in one call, in the order of their keys; undefined for those that do not exist.
   * Makes no call without keys. Reports the read units of each call to `onConsumed`. Fails with
   * unavailable if some are throttled twice in a request.
   */
  getAll(keys: readonly Key[], onConsumed?: OnConsumed): Promise<(Item | undefined)[]>;
  /**
   * The items of a range in its order. Reports the read units of each call to `onConsumed`. Fails
   * with the range's `tooLong` beyond the bound of a list.
   */
  query(pk: string, range?: Range, onConsumed?: OnConsumed): Promise<Item[]>;
  /**
   * The next id of a kind, or the last of as many as are needed: never assigned before and never
   * assigned again.
   */
  nextId(kind: Sequence, howMany?: number): Promise<number>;
  /**
   * Updates one item outside of a transaction, so that parallel updates never conflict. Returns the
   * item after the update, or undefined if the condition failed. May be applied twice if a response
   * is lost, so it is only for counts that may be too high and for values that may be set twice.
   * Fails with unavailable.
   */
  update(write: Write): Promise<Item | undefined>;
  /** Commits all writes or none, at most once per client request token. */
  transact(writes: readonly Write[], token: string): Promise<void>;
}
