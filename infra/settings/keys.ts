import * as v from 'valibot';
import { count, distinct, matching, setting } from './setting.ts';

/* The keys of tokens and of password hashes, and how long tokens last. */

/** The logical ids of keys of one kind. */
const logicalIds = (name: string) => {
  const pattern = new RegExp(`^${name}[A-Za-z0-9]*$`);
  return distinct('key', matching(pattern, `must be ${name}, which letters and digits may follow`));
};

export const signingKeys = v.optional(
  setting(
    'The logical ids of the signing keys: the first signs, all are published. A second one ' +
      'is needed only while [the key is replaced](keys.md#replacing-the-signing-key).',
    logicalIds('SigningKey'),
  ),
  ['SigningKey'],
);

export const pepperKeys = v.optional(
  setting(
    'The logical ids of the keys that protect password hashes: the first is used for new ' +
      'hashes, all verify. A second one is needed only while [the key is ' +
      'replaced](keys.md#replacing-the-pepper-key).',
    // The ARNs of all are in one tag of the table, whose value may have 256 characters.
    v.pipe(logicalIds('PepperKey'), v.maxLength(3, 'There can be three at most')),
  ),
  ['PepperKey'],
);

export const tokenLife = setting(
  'How long a login lasts.',
  v.pipe(
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
  ),
);

export const deletionEndsSessions = v.optional(
  v.pipe(
    v.boolean(),
    v.description(
      'Whether the deletion of a user ends their sessions at once. Without it, their tokens can ' +
        'read what requires no role until they expire.',
    ),
    v.metadata({ example: true }),
  ),
  false,
);
