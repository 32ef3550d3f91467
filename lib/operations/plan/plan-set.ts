import * as v from 'valibot';
import { count, type ItemDeclaration } from '../../table/item-kind.ts';
import type { Key } from '../../table/keys.ts';

/** The item that counts the transactions in which files of a set were applied. */
export const planSetKey = (set: string): Key => ({ pk: `PLAN-SET#${set}`, sk: 'APPLIED' });
/** Lets one application of a set of files follow another: a plan also says what stays as it is. */
export const planSetItem: ItemDeclaration = {
  pk: 'PLAN-SET#<set>',
  sk: 'APPLIED',
  name: 'applications of a set of files',
  attributes: () => v.object({ n: count }),
  onForget: 'keep',
  onRestore: 'keep',
};
