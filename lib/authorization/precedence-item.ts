import * as v from 'valibot';
import { count, type ItemDeclaration } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';

export const precedenceKey = (userId: number): Key => ({
  pk: `PRECEDENCE#${idText(userId)}`,
  sk: 'PRECEDENCE',
});
/** While it exists, changes by the user are rejected. Expires within seconds. */
export const precedenceItem: ItemDeclaration = {
  pk: 'PRECEDENCE#<user id>',
  sk: 'PRECEDENCE',
  name: 'precedence over changes by a user',
  attributes: () => v.object({ until: count, expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};
