import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Failure } from '../contract/failure.ts';
import { instantOf } from '../contract/fields.ts';

/*
 * Secrets of machines: 256 random bits in 43 digits of base 62, and a checksum in 6. Scanners find
 * a leaked one by its prefix, and the checksum tells it from other text offline.
 */

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function base62(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; rest > 0n; rest /= 62n) text = DIGITS[Number(rest % 62n)] + text;
  return text.padStart(length, '0');
}

/** Random bytes as digits of base 62, of which there are at least `length`. */
export const randomDigits = (bytes: number, length: number): string =>
  base62(BigInt(`0x${randomBytes(bytes).toString('hex')}`), length);

const checksumOf = (text: string): string => base62(BigInt(crc32(text)), 6);

/** A prefix, what the checksum is to cover besides, 256 random bits and the checksum. */
export function newSecret(prefix: string, covered = ''): string {
  const digits = covered + randomDigits(32, 43);
  return `${prefix}${digits}${checksumOf(digits)}`;
}

/** Whether the last six digits are the checksum of what is before them, without the prefix. */
export const hasChecksum = (secret: string, prefix: string): boolean =>
  checksumOf(secret.slice(prefix.length, -6)) === secret.slice(-6);

/** How a secret is stored. It has too many bits to be guessed, so the hash need not be slow. */
export const hashOfSecret = (secret: string): string =>
  createHash('sha256').update(secret).digest('base64url');

/** The hour of a time, to which uses are stored (ISO 8601, UTC). */
export const hourOf = (now: number): string => `${new Date(now).toISOString().slice(0, 13)}:00:00Z`;

/**
 * When a new secret expires, in milliseconds since 1970: at the wanted time, or after `daysMax`.
 * Fails with invalid for a time that has passed or lies further ahead.
 */
export function expiryOf(wanted: string | undefined, daysMax: number, now: number): number {
  const latest = now + daysMax * 24 * 60 * 60 * 1000;
  if (!wanted) return latest;
  const time = Date.parse(instantOf(wanted) as string);
  if (!(time > now && time <= latest))
    throw new Failure('invalid', {
      fieldErrors: [{ field: 'expires', message: 'Size', reason: `in the next ${daysMax} days` }],
    });
  return time;
}
