import * as v from 'valibot';

/** The limits of a new password, in code points: the contract's. */
const SHORTEST = 4;
const LONGEST = 100;

/** A password to set: 4 to 100 code points, brought to one spelling (NFC) so that it can be typed on any keyboard. */
export const password = v.pipe(
  v.string('TypeMismatch'),
  v.check((value) => value.isWellFormed(), 'Pattern'),
  v.normalize('NFC'),
  v.check((value) => {
    const length = [...value].length;
    return length >= SHORTEST && length <= LONGEST;
  }, 'Size'),
);
