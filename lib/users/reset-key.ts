import { createHash, randomBytes } from 'node:crypto';
import { resetKey } from '../table/keys.ts';
import { claim, type Write } from '../table/write.ts';
import type { User } from './user.ts';

/** How long a key can be used, in seconds. */
const LIFE = 24 * 60 * 60;

/** A key as it is stored: hashed, and good for one password and one state of the address only. */
export interface Reset {
  readonly userId: number;
  /** The user's at the time; undefined for an account that has not had one yet. */
  readonly resetStamp: string | undefined;
  /** Seconds since 1970; the table forgets it some time later. */
  readonly expires: number;
}

/** The hash under which a key is stored. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * A new key by which this user can set a password once within 24 hours, and the write that stores it. `now` is in
 * milliseconds since 1970.
 */
export function newResetKey(user: User, now: number): { key: string; write: Write } {
  const key = randomBytes(32).toString('base64url');
  const reset: Reset = {
    userId: user.id,
    resetStamp: user.resetStamp,
    expires: Math.floor(now / 1000) + LIFE,
  };
  return { key, write: claim(resetKey(hashOf(key)), { ...reset }, 'retry') };
}
