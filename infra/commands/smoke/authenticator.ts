import { BASE32, codeOf, stepAt } from '../../../lib/second-factor/totp.ts';

/** The authenticator of a second factor with this secret, in base32 as people type it. */
export function authenticator(secret: string) {
  const bits = [...secret.replace(/\s/g, '').toUpperCase()].map((letter) =>
    BASE32.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  const key = Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
  return {
    /** The code of this many time steps from now. */
    code: (steps = 0): string => codeOf(key, stepAt(Date.now()) + steps),
  };
}
