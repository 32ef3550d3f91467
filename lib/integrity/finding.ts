import type { Key } from '../table/keys.ts';
import type { Write } from '../table/write.ts';

/** Everything that can be wrong with a table. */
export type FindingKind =
  | 'unknown-item'
  | 'damaged-item'
  | 'wrong-id'
  | 'wrong-signing-key'
  | `${'login' | 'email'}-guard-${'missing' | 'wrong' | 'orphan'}`
  | `${'login' | 'email'}-shared`
  | 'not-on-roster'
  | 'wrongly-on-roster'
  | 'nobody-administers'
  | 'wrong-total'
  | 'sequence-behind'
  | 'parameter-without-integration'
  | 'wrong-parameter-counters';

/** One thing that is wrong, and what mends it. */
export interface Finding {
  readonly kind: FindingKind;
  /** The items that it is about. */
  readonly keys: readonly Key[];
  /** One sentence: the item, what is expected of it and what was found. */
  readonly says: string;
  /** What follows from the other items, all of it or nothing; or, where nothing does, why, and what the operator can do. */
  readonly remedy: { readonly does: string; readonly writes: readonly Write[] } | { readonly advice: string };
}

/** How a sentence names an item. */
export const nameOf = ({ pk, sk }: Key): string => `${pk} / ${sk}`;
