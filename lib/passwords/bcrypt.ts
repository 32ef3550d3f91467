import { compare } from 'bcryptjs';

/*
 * Imported users keep the bcrypt hash of the system that they come from until their first login,
 * which replaces it unless bcrypt does not read the whole password. Gatehouse verifies such hashes
 * and never creates one.
 */

/** The cost is limited to 12, because each further step doubles the time of a login. */
const HASH = /^\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/;

/** Whether this is a bcrypt hash with a cost from 4 to 12. */
export const isBcrypt = (stored: string): boolean => HASH.test(stored);

/**
 * Whether a match proves the whole password: bcrypt reads only 72 bytes, including the zero byte at
 * the end.
 */
export const isReadWhole = (password: string): boolean => Buffer.byteLength(password) < 72;

/**
 * Whether the password matches as typed: other systems do not normalize it. bcrypt reads only its
 * first 72 bytes.
 */
export const matchesBcrypt = (password: string, stored: string): Promise<boolean> =>
  compare(password, stored);
