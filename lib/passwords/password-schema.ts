import * as v from 'valibot';
import { codePoints, limited, wellFormed } from '../contract/fields.ts';

/** The length of a new password in code points, given by the API contract. */
export const LENGTH = { min: 4, max: 100 };

/**
 * The length in UTF-16 units above which no text is a password. Longer texts are not normalized:
 * that takes quadratic time for runs of combining marks. A code point in NFC comes from at most
 * four code points, of two units each.
 */
const UNITS_MAX = 8 * LENGTH.max;

/** A client cannot know it from the document, which is the same for all environments. */
const POLICY = 'An environment can require more characters, and reject common passwords.';

/** The JSON Schema of a new password. */
export const PASSWORD_JSON = {
  type: 'string',
  description: POLICY,
  minLength: LENGTH.min,
  maxLength: LENGTH.max,
} as const;

/**
 * A new password: 4 to 100 code points, normalized to NFC so that any keyboard can reproduce it.
 * UTF-8 encodes every lone surrogate as U+FFFD, so different ill-formed passwords would have the
 * same hash.
 */
export const password = v.pipe(
  v.string('TypeMismatch'),
  wellFormed,
  limited(LENGTH, (value) => value.length <= UNITS_MAX, 'Size'),
  v.normalize('NFC'),
  limited(
    LENGTH,
    (value) => codePoints(value) >= LENGTH.min && codePoints(value) <= LENGTH.max,
    'Size',
  ),
  v.description(POLICY),
);
