import * as v from 'valibot';
import { count, type ItemDeclaration, whole } from './item-kind.ts';
import { type Key, KINDS, type Kind, SEQUENCES, type Sequence } from './keys.ts';

/* The items that count: the ids that were assigned, and the entities of each kind. */

export const sequenceKey = (kind: Sequence): Key => ({ pk: 'SEQUENCE', sk: kind });
/** The last id of a kind that was assigned. */
export const sequenceItem: ItemDeclaration = {
  pk: 'SEQUENCE',
  sk: SEQUENCES,
  name: 'last id of a kind',
  attributes: () => v.object({ n: whole }),
  onForget: 'keep',
  onRestore: 'change',
};

export const totalKey = (kind: Kind): Key => ({ pk: 'TOTAL', sk: kind });
/** How many entities of a kind there are, and how often that has changed. */
export const totalItem: ItemDeclaration = {
  pk: 'TOTAL',
  sk: KINDS,
  name: 'total of a kind',
  attributes: () => v.object({ n: whole, changes: v.optional(count) }),
  onForget: 'keep',
  onRestore: 'keep',
};
