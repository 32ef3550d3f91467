import type { Key } from '../../table/keys.ts';
import type { Write } from '../../table/write.ts';

/** Every kind of defect that the verification detects. */
export type FindingKind =
  | 'unknown-item'
  | 'damaged-item'
  | 'wrong-id'
  | 'wrong-signing-key'
  | `${'login' | 'email' | 'identity'}-guard-${'missing' | 'wrong' | 'orphan'}`
  | `${'login' | 'email' | 'identity'}-shared`
  | 'not-on-roster'
  | 'wrongly-on-roster'
  | 'nobody-administers'
  | 'wrong-total'
  | 'sequence-behind'
  | 'credential-item-missing'
  | 'credential-orphan'
  | 'parameter-without-integration'
  | 'wrong-parameter-counters';

/** A defect and its remedy. */
export interface Finding {
  readonly kind: FindingKind;
  /** The items concerned. */
  readonly keys: readonly Key[];
  /** One sentence: the item, the actual and the expected state. */
  readonly message: string;
  /**
   * Writes that follow from other items, made all or none; otherwise advice for the operator and
   * its reason.
   */
  readonly remedy:
    | { readonly description: string; readonly writes: readonly Write[] }
    | { readonly advice: string };
}

/** An item in messages. */
export const keyLabel = ({ pk, sk }: Key): string => `${pk} / ${sk}`;
