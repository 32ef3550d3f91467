import * as v from 'valibot';
import { count, type ItemDeclaration, id, text } from '../table/item-kind.ts';
import { idText, isEntity, type Key } from '../table/keys.ts';
import type { Item } from '../table/table.ts';
import { ALL_RECOVERY_CODES } from './user-factor.ts';

const secondFactor = () =>
  v.object({
    nonce: text,
    key: text,
    lastStep: count,
    recoveryNonce: text,
    recoveryCodes: v.pipe(count, v.maxValue(ALL_RECOVERY_CODES)),
  });

export const userItem: ItemDeclaration = {
  pk: 'USER',
  sk: '<id>',
  name: 'user',
  attributes: () =>
    v.object({
      id,
      login: text,
      email: text,
      activated: v.boolean(),
      langKey: text,
      authorities: v.array(text),
      createdBy: text,
      createdDate: text,
      lastModifiedBy: text,
      lastModifiedDate: text,
      version: text,
      passwordChanges: count,
      sessionEndings: v.optional(count),
      lastLogin: v.optional(text),
      latestSession: v.optional(text),
      tokens: v.optional(v.array(v.object({ series: text, expires: count }))),
      invitedAt: v.optional(text),
      managedBy: v.optional(text),
      emailUnproven: v.optional(v.literal(true)),
      identities: v.optional(v.array(v.object({ issuer: text, subject: text }))),
      secondFactor: v.optional(secondFactor()),
      pendingFactor: v.optional(v.object({ nonce: text, session: text, expires: count })),
      factorChanges: v.optional(count),
      admittedAt: v.optional(count),
    }),
  personal: ['createdBy', 'lastModifiedBy'],
  matches: isEntity,
  onForget: 'rename',
  onRestore: 'change',
};

export const loginGuardKey = (login: string): Key => ({ pk: `LOGIN#${login}`, sk: 'GUARD' });
export const loginItem: ItemDeclaration = {
  pk: 'LOGIN#<login>',
  sk: 'GUARD',
  name: 'uniqueness guard of a login',
  attributes: () => v.object({ id }),
  onForget: 'keep',
  onRestore: 'keep',
};

export const emailGuardKey = (emailKey: string): Key => ({ pk: `EMAIL#${emailKey}`, sk: 'GUARD' });
export const emailItem: ItemDeclaration = {
  pk: 'EMAIL#<e-mail key>',
  sk: 'GUARD',
  name: 'uniqueness guard of an address',
  attributes: () => v.object({ id }),
  onForget: 'keep',
  onRestore: 'keep',
};

export const identityGuardKey = (issuer: string, subject: string): Key => ({
  pk: `IDENTITY#${issuer}#${subject}`,
  sk: 'GUARD',
});
export const identityItem: ItemDeclaration = {
  pk: 'IDENTITY#<issuer>#<subject>',
  sk: 'GUARD',
  name: 'uniqueness guard of an identity',
  attributes: () => v.object({ id }),
  onForget: 'keep',
  onRestore: 'keep',
};

export const rosterKey: Key = { pk: 'ADMINS', sk: 'ROSTER' };
/** The ids of the administrators. */
export const rosterIdsOf = (roster: Item | undefined): ReadonlySet<number> =>
  (roster?.ids as ReadonlySet<number> | undefined) ?? new Set();
export const rosterItem: ItemDeclaration = {
  pk: 'ADMINS',
  sk: 'ROSTER',
  name: 'roster of administrators',
  attributes: () => v.object({ ids: v.optional(v.set(id)) }),
  onForget: 'keep',
  onRestore: 'keep',
};

/** How long a mailed key is valid. */
export const MAILED_KEY_SECONDS = 24 * 60 * 60;
export const resetItemKey = (hash: string): Key => ({ pk: `RESET#${hash}`, sk: 'RESET' });
export const resetKeyItem: ItemDeclaration = {
  pk: 'RESET#<hash of the key>',
  sk: 'RESET',
  name: 'mailed key that sets a password',
  attributes: () => v.object({ userId: id, mailbox: text, issuedAt: count, expires: count }),
  personal: ['expires'],
  personIn: 'userId',
  onForget: 'delete',
  onRestore: 'delete',
};

export const pendingEmailKey = (userId: number): Key => ({
  pk: `PENDING-EMAIL#${idText(userId)}`,
  sk: 'EMAIL',
});
export const pendingEmailItem: ItemDeclaration = {
  pk: 'PENDING-EMAIL#<user id>',
  sk: 'EMAIL',
  name: 'new address to be confirmed',
  attributes: () => v.object({ email: text, keyHash: text, mailbox: text, expires: count }),
  personal: ['email', 'expires'],
  onForget: 'delete',
  onRestore: 'delete',
};
