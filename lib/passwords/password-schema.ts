import * as v from 'valibot';

/** Bounds of the length of a new password in code points, given by the API contract. */
const MIN_LENGTH = 4;
const MAX_LENGTH = 100;

/** A new password: 4 to 100 code points, normalized to NFC so that any keyboard can reproduce it. */
export const password = v.pipe(
  v.string('TypeMismatch'),
  v.check((value) => value.isWellFormed(), 'Pattern'),
  v.normalize('NFC'),
  v.check((value) => {
    const length = [...value].length;
    return length >= MIN_LENGTH && length <= MAX_LENGTH;
  }, 'Size'),
);
