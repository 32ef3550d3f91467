import * as v from 'valibot';
import { count, type ItemDeclaration, whole } from './item-kind.ts';
import { idText, type Key, KINDS, type Kind, SEQUENCES, type Sequence } from './keys.ts';

/* The items of the table itself. */

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

export const formatKey: Key = { pk: 'FORMAT', sk: 'FORMAT' };
export const formatItem: ItemDeclaration = {
  pk: 'FORMAT',
  sk: 'FORMAT',
  name: 'newest format that was written',
  attributes: () => v.object({ format: v.pipe(whole, v.minValue(1)) }),
  onForget: 'keep',
  onRestore: 'keep',
};

export const readsPartition = (userId: number): string => `READS#${idText(userId)}`;
/** Expires within minutes. */
export const readCountItem: ItemDeclaration = {
  pk: ['READS#<user id>', 'READS#<negative integration id>'],
  sk: '<window>',
  name: 'read units of an account in 8 seconds',
  attributes: () => v.object({ n: v.pipe(v.number(), v.minValue(0)), expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};
