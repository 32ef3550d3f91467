import { createHash, randomBytes } from 'node:crypto';
import { resetItemKey } from '../table/keys.ts';
import { claim, type Write } from '../table/write.ts';
import type { User } from './user.ts';

const LIFETIME_SECONDS = 24 * 60 * 60;

/** The item of a reset key. The key itself is not stored; its SHA-256 hash is in the partition key. */
export interface StoredResetKey {
  readonly userId: number;
  /** The user's stamp when the key was issued; undefined for an account that had none. */
  readonly resetStamp: string | undefined;
  /** Seconds since 1970. DynamoDB deletes the item some time later (TTL). */
  readonly expires: number;
}

/** The hash under which a key is stored. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Returns a new single-use key, valid for 24 hours, with which the user can set a password, and the write that stores
 * it. `now` is in milliseconds since 1970.
 */
export function newResetKey(user: User, now: number): { key: string; write: Write } {
  const key = randomBytes(32).toString('base64url');
  const storedKey: StoredResetKey = {
    userId: user.id,
    resetStamp: user.resetStamp,
    expires: Math.floor(now / 1000) + LIFETIME_SECONDS,
  };
  return { key, write: claim(resetItemKey(hashOf(key)), { ...storedKey }, 'retry') };
}
