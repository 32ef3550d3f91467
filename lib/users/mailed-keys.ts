import { createHash, randomBytes } from 'node:crypto';
import { mailboxOf } from '../mail/address.ts';
import { put, type Write } from '../table/write.ts';
import type { User } from './user.ts';
import { MAILED_KEY_SECONDS, pendingEmailKey, resetItemKey } from './user-items.ts';

/**
 * A change of one's own address does not void a key that was mailed within this time before its
 * use.
 */
const RECENT_MS = 60 * 60 * 1000;

/**
 * The item of a reset key. The key itself is not stored; its SHA-256 hash is in the partition key.
 */
export interface StoredResetKey {
  readonly userId: number;
  /** The user's security stamp when the key was issued. */
  readonly securityStamp: string;
  /** The hash of the mailbox that it was mailed to. */
  readonly mailbox: string;
  /** When it was issued, in milliseconds since 1970. */
  readonly issuedAt: number;
  /** Seconds since 1970. DynamoDB deletes the item some time later (TTL). */
  readonly expires: number;
}

/** The hash under which a key is stored. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * The hash of the mailbox of a user. Equal email keys are not enough: `fırma.de` is another domain
 * than `firma.de`.
 */
export const mailboxHashOf = ({ email }: User): string => hashOf(mailboxOf(email));

/**
 * Returns a new single-use key, valid for 24 hours, with which the user can set a password, and the
 * write that stores it. `now` is in milliseconds since 1970.
 */
export function newResetKey(user: User, now: number): { key: string; write: Write } {
  const key = randomBytes(32).toString('base64url');
  const storedKey: StoredResetKey = {
    userId: user.id,
    securityStamp: user.securityStamp,
    mailbox: mailboxHashOf(user),
    issuedAt: now,
    expires: Math.floor(now / 1000) + MAILED_KEY_SECONDS,
  };
  return { key, write: put(resetItemKey(hashOf(key)), { ...storedKey }) };
}

/** Whether a key was mailed to the mailbox that its user has now. */
export const provesMailbox = ({ mailbox }: StoredResetKey, user: User): boolean =>
  mailbox === mailboxHashOf(user);

/**
 * Whether a user logs in at identity providers only. No mailed key opens such an account: somebody
 * with the mailbox would pass by the second factor of the provider.
 */
export const isOfProvider = ({ identities, passwordHash }: User): boolean =>
  identities !== undefined && !passwordHash;

/**
 * Whether a key still sets the password of its user: the account is activated, is not only a
 * provider's, has had the same security stamp since, and has the mailbox that the key was mailed
 * to. A recent key outlasts a change of that mailbox by the user, which keeps the security stamp:
 * otherwise a thief with a token could void every key before it can be used.
 */
export function isUsable(key: StoredResetKey, user: User, now: number): boolean {
  const { expires, securityStamp, issuedAt } = key;
  const isMailedThere = provesMailbox(key, user) || now < issuedAt + RECENT_MS;
  return (
    now / 1000 < expires &&
    user.activated &&
    !isOfProvider(user) &&
    securityStamp === user.securityStamp &&
    isMailedThere
  );
}

/**
 * The address that a user has requested, with what confirms it. A user has one of them at most, so
 * that only the key of the last mail works.
 */
export interface PendingEmail {
  readonly email: string;
  /** The key itself is not stored. */
  readonly keyHash: string;
  /** The user's security stamp when the key was issued. */
  readonly securityStamp: string;
  /** The hash of the mailbox that the key was mailed to. */
  readonly mailbox: string;
  /** Seconds since 1970. DynamoDB deletes the item some time later (TTL). */
  readonly expires: number;
}

/**
 * Returns a new single-use key, valid for 24 hours, that confirms a new address of the user, and
 * the write that stores it. `now` is in milliseconds since 1970.
 */
export function newConfirmationKey(
  user: User,
  email: string,
  now: number,
): { key: string; write: Write } {
  const key = `${user.id}-${randomBytes(32).toString('base64url')}`;
  const pending: PendingEmail = {
    email,
    keyHash: hashOf(key),
    securityStamp: user.securityStamp,
    mailbox: mailboxHashOf(user),
    expires: Math.floor(now / 1000) + MAILED_KEY_SECONDS,
  };
  return { key, write: put(pendingEmailKey(user.id), { ...pending }) };
}

/** The user id in a key, or 0, which no account has, if the text is not a key. */
export const userIdIn = (key: string): number =>
  Number(/^(\d{1,16})-[\w-]{43}$/.exec(key)?.[1] ?? 0);

/**
 * Whether a key confirms the pending address: the account is activated, has had the same
 * security stamp since, and has the mailbox that the key was mailed to.
 */
export const confirms = (key: string, pending: PendingEmail, user: User, now: number): boolean =>
  hashOf(key) === pending.keyHash &&
  now / 1000 < pending.expires &&
  user.activated &&
  user.securityStamp === pending.securityStamp &&
  mailboxHashOf(user) === pending.mailbox;
