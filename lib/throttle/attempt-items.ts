import * as v from 'valibot';
import { networkOf } from '../contract/source.ts';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';
import type { Pseudonym } from './pseudonyms.ts';

/* Logins, networks and addresses are HMACs in these keys, so no item names a person. */

const under = (hmac: string, sk: string): Key => ({ pk: `ATTEMPTS#${hmac}`, sk });

/** Where attempts at a login are counted; `recovery` during a wait, with a right recovery code. */
export function loginKeys(login: string, address: string, pseudonym: Pseudonym) {
  const hmac = pseudonym(login);
  return {
    network: under(hmac, `NETWORK#${pseudonym(`${networkOf(address)} ${login}`)}`),
    elsewhere: under(hmac, 'ELSEWHERE'),
    recovery: under(hmac, 'RECOVERY'),
  };
}
export type LoginKeys = ReturnType<typeof loginKeys>;
/** From a known network, from all others together, and with a recovery code. */
export const attemptsItem: ItemDeclaration = {
  pk: 'ATTEMPTS#<login>',
  sk: ['NETWORK#<network>', 'ELSEWHERE', 'RECOVERY'],
  name: 'failed attempts at a login',
  attributes: () =>
    v.object({
      n: count,
      last: count,
      expires: count,
      rejected: v.optional(v.literal(true)),
      byMail: v.optional(v.literal(true)),
      audited: v.optional(v.array(text)),
    }),
  onForget: 'keep',
  onRestore: 'keep',
};

/** Expires a day after the owner of a login was told of a wrong code after the right password. */
export const codeRejectedKey = ({ pk }: Key): Key => ({ pk, sk: 'CODE-REJECTED' });
/** Stands for an audit entry where no account has the login. */
export const rejectedKey = ({ pk }: Key): Key => ({ pk, sk: 'REJECTED' });
export const rejectionItem: ItemDeclaration = {
  pk: 'ATTEMPTS#<login>',
  sk: ['CODE-REJECTED', 'REJECTED'],
  name: 'rejection that was reported',
  attributes: () => v.object({ expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};

/** What is counted of a source: attempts at logins, resets, or rejected requests for tokens. */
export type SourceKind = 'SOURCE' | 'RESETS' | 'MODULES';
export const sourceKey = (address: string, kind: SourceKind, window: number): Key =>
  under(address, `${kind}#${window}`);
export const sourceItem: ItemDeclaration = {
  pk: 'ATTEMPTS#<address>',
  sk: ['SOURCE#<window>', 'RESETS#<window>', 'MODULES#<window>'],
  name: 'attempts, resets or rejected requests for tokens from a source',
  attributes: () => v.object({ n: count, requests: count, expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};
