import { createHash, randomBytes } from 'node:crypto';
import { resetKey } from '../table/keys.ts';
import { claim, type Write } from '../table/write.ts';
import type { User } from './user.ts';

/** How long a key is valid. */
const LIFETIME_SECONDS = 24 * 60 * 60;

/** A stored reset key; only its hash is stored. A change of the password or address invalidates it. */
export interface Reset {
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
  const reset: Reset = {
    userId: user.id,
    resetStamp: user.resetStamp,
    expires: Math.floor(now / 1000) + LIFETIME_SECONDS,
  };
  return { key, write: claim(resetKey(hashOf(key)), { ...reset }, 'retry') };
}
