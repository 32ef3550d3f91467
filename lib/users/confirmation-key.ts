import { randomBytes } from 'node:crypto';
import { put, type Write } from '../table/write.ts';
import { hashOf, mailboxHashOf } from './reset-key.ts';
import type { User } from './user.ts';
import { pendingEmailKey } from './user-items.ts';

const LIFETIME_SECONDS = 24 * 60 * 60;

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
    expires: Math.floor(now / 1000) + LIFETIME_SECONDS,
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
