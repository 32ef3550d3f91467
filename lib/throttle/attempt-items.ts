import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';

/* Logins, networks and addresses are HMACs in these keys, so no item names a person. */

const PARTITION = 'ATTEMPTS#';
/** The HMAC of a login in a key. */
export const pseudonymIn = ({ pk }: Key): string => pk.slice(PARTITION.length);
const under = (hmac: string, sk: string): Key => ({ pk: `${PARTITION}${hmac}`, sk });

export const networkAttemptsKey = (login: string, network: string): Key =>
  under(login, `NETWORK#${network}`);
export const elsewhereAttemptsKey = (login: string): Key => under(login, 'ELSEWHERE');
/** Attempts at a login with a right recovery code during a wait. */
export const recoveryAttemptsKey = (login: string): Key => under(login, 'RECOVERY');
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

/* The counts of a source are numbered by their windows. */
export const sourceAttemptsKey = (address: string, window: number): Key =>
  under(address, `SOURCE#${window}`);
export const sourceResetsKey = (address: string, window: number): Key =>
  under(address, `RESETS#${window}`);
export const sourceModulesKey = (address: string, window: number): Key =>
  under(address, `MODULES#${window}`);
export const sourceItem: ItemDeclaration = {
  pk: 'ATTEMPTS#<address>',
  sk: ['SOURCE#<window>', 'RESETS#<window>', 'MODULES#<window>'],
  name: 'attempts, resets or rejected modules from a source',
  attributes: () => v.object({ n: count, requests: count, expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};
