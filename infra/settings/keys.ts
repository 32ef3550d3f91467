import * as v from 'valibot';
import { count } from './numbers.ts';

/* The keys of tokens and of password hashes, and how long tokens last. */

/** The logical ids of keys of one kind. */
const logicalIds = (name: string) =>
  v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.regex(
          new RegExp(`^${name}[A-Za-z0-9]*$`),
          `must be ${name}, which letters and digits may follow`,
        ),
      ),
    ),
    v.minLength(1),
    v.check((keys) => new Set(keys).size === keys.length, 'Each key must be listed only once'),
  );

export const signingKeys = v.optional(
  v.pipe(
    logicalIds('SigningKey'),
    v.description(
      'The logical ids of the signing keys: the first signs, all are published. A second one ' +
        'is needed only while [the key is replaced](keys.md#replacing-the-signing-key).',
    ),
  ),
  ['SigningKey'],
);

export const pepperKeys = v.optional(
  v.pipe(
    logicalIds('PepperKey'),
    // The ARNs of all are in one tag of the table, whose value may have 256 characters.
    v.maxLength(3, 'There can be three at most'),
    v.description(
      'The logical ids of the keys that protect password hashes: the first is used for new ' +
        'hashes, all verify. A second one is needed only while [the key is ' +
        'replaced](keys.md#replacing-the-pepper-key).',
    ),
  ),
  ['PepperKey'],
);

export const tokenLife = v.pipe(
  v.strictObject({
    minutes: count('minutes', 'The lifetime of a token.'),
    rememberedMinutes: count(
      'minutes',
      'The lifetime of a token that was requested with `rememberMe`.',
    ),
  }),
  v.check(
    ({ minutes, rememberedMinutes }) => minutes <= rememberedMinutes,
    'minutes must not exceed rememberedMinutes: a token with a longer lifetime is rejected ' +
      'with 401',
  ),
  v.description('How long a login lasts.'),
);
