import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';

export const credentialUseKey = (clientId: string): Key => ({
  pk: `CREDENTIAL-USE#${clientId}`,
  sk: 'USE',
});
export const credentialUseItem: ItemDeclaration = {
  pk: 'CREDENTIAL-USE#<client id>',
  sk: 'USE',
  name: 'last use of a credential of a module',
  attributes: () => v.object({ lastUsed: text, expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};
