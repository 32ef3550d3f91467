import * as v from 'valibot';
import { ROLES } from '../../lib/contract/contract.ts';
import { LENGTH as PASSWORD_LENGTH } from '../../lib/passwords/password-schema.ts';
import { isLogin } from '../../lib/users/user-schema.ts';
import { atMost, count, distinct, flag, matching, setting } from './setting.ts';

/* The KMS keys, what people log in with, and how long tokens last. */

/** What the keys do whose logical ids begin so. */
const PURPOSES = {
  TableKey: 'encrypts the table',
  ValuesKey: 'wraps the keys of parameter values',
  PepperKey: 'protects password hashes',
  FactorKey: 'derives the secrets of second factors',
  SigningKey: 'signs tokens',
  ModuleKey: 'signs tokens of modules',
};

/** The description of a key, by which it is recognized when its stack does not know it. */
export function keyDescription(logicalId: string): string {
  const found = Object.entries(PURPOSES).find(([name]) => logicalId.startsWith(name));
  return `Gatehouse: ${found?.[1]}`;
}

export const keyIds = (settings: {
  readonly pepperKeys: readonly string[];
  readonly signingKeys: readonly string[];
  readonly moduleKeys: readonly string[];
}): readonly string[] => [
  'TableKey',
  'ValuesKey',
  ...settings.pepperKeys,
  'FactorKey',
  ...settings.signingKeys,
  ...settings.moduleKeys,
];

const logicalIds = (name: string) => {
  const pattern = new RegExp(`^${name}[A-Za-z0-9]*$`);
  return distinct('key', matching(pattern, `must be ${name}, which letters and digits may follow`));
};

const isDay = (text: string): boolean => new Date(text).toJSON()?.slice(0, 10) === text;

export const keySettings = {
  signingKeys: v.optional(
    setting(
      'The logical ids of the signing keys: the first signs, all are published. A second one ' +
        'is needed only while [the key is replaced](keys.md#replacing-the-signing-key).',
      logicalIds('SigningKey'),
    ),
    ['SigningKey'],
  ),
  moduleKeys: v.optional(
    setting(
      'The logical ids of the keys of tokens of modules: the first signs, all verify. A second ' +
        'one is needed only while [the key is replaced](keys.md#replacing-the-key-of-modules).',
      logicalIds('ModuleKey'),
    ),
    ['ModuleKey'],
  ),
  pepperKeys: v.optional(
    setting(
      'The logical ids of the keys that protect password hashes: the first is used for new ' +
        'hashes, all verify. A second one is needed only while [the key is ' +
        'replaced](keys.md#replacing-the-pepper-key).',
      // The ARNs of all are in one tag of the table, whose value may have 256 characters.
      v.pipe(logicalIds('PepperKey'), v.maxLength(3, 'There can be three at most')),
    ),
    ['PepperKey'],
  ),
  passwords: v.optional(
    setting(
      'What [new passwords](api.md#limits-of-fields) must satisfy. Passwords that are already ' +
        'set, and passwords of imported users, stay valid.',
      v.strictObject({
        minimum: v.optional(
          setting(
            'The minimum length.',
            v.pipe(
              v.number(),
              v.integer(),
              v.minValue(PASSWORD_LENGTH.min),
              v.maxValue(
                64,
                'must not exceed 64, so that every environment accepts long passwords',
              ),
            ),
            { unit: 'characters', example: 8 },
          ),
          PASSWORD_LENGTH.min,
        ),
        rejectCommon: flag(
          'Whether the 10,000 most common passwords, the login, the e-mail address, and their ' +
            '[simple variations](api.md#common-passwords) are rejected.',
          false,
        ),
      }),
    ),
    { minimum: PASSWORD_LENGTH.min, rejectCommon: false },
  ),
  secondFactor: v.optional(
    setting(
      'Which users must have a [second factor](api.md#second-factor), and from which day. All ' +
        'users can turn one on.',
      v.strictObject({
        requiredFor: setting('The roles that require it.', distinct('role', v.picklist(ROLES)), {
          example: ['ROLE_ADMIN'],
        }),
        from: setting(
          'The first day, in UTC, on which such a user without a second factor can do nothing ' +
            'but turn one on. Until then, responses to log-ins and to requests for the own ' +
            'account announce it.',
          v.pipe(v.string(), v.isoDate(), v.check(isDay, 'must be a day that exists')),
          { example: '2027-01-15' },
        ),
      }),
    ),
  ),
  ssoOnly: v.optional(
    setting(
      'People log in with the identity provider only: every password is rejected as a wrong one. ' +
        'Sessions and API tokens stay. While [the provider is ' +
        'down](runbook.md#the-identity-provider-is-down), an operator admits one account.',
      v.strictObject({
        emergencyAccount: setting(
          'The login of an administrator with a second factor, who can log in while [an ' +
            'operator](commands.md) has armed the account.',
          v.pipe(v.string(), v.check(isLogin, 'must be a login')),
          { example: 'emergency' },
        ),
      }),
    ),
  ),
  tokenLife: v.optional(
    setting(
      'How long a log-in lasts.',
      v.pipe(
        v.strictObject({
          minutes: v.optional(
            v.pipe(
              count('minutes', 'The lifetime of a token.'),
              atMost(1440, 'a day: longer sessions are for those who request them with rememberMe'),
            ),
            60,
          ),
          rememberedMinutes: v.optional(
            v.pipe(
              count('minutes', 'The lifetime of a token that was requested with `rememberMe`.'),
              atMost(43_200, '30 days: whoever steals such a token can use it until then'),
            ),
            1440,
          ),
        }),
        v.check(
          ({ minutes, rememberedMinutes }) => minutes <= rememberedMinutes,
          'minutes must not exceed rememberedMinutes: a token with a longer lifetime is rejected ' +
            'with 401',
        ),
      ),
    ),
    {},
  ),
  confirmEmailChanges: flag(
    'Whether a change of the own e-mail address takes effect only when [the present address ' +
      'confirms it](api.md#confirming-a-new-address). Without the console, it requires ' +
      '`mail.confirmLinkBase`.',
    false,
  ),
  tokens: v.optional(
    setting(
      '[API tokens](clients.md#api-tokens) of users.',
      v.strictObject({
        daysMaximum: v.optional(
          v.pipe(
            count('days', 'How long an API token is valid at most, and by default.'),
            atMost(3650, 'ten years: whoever steals such a token can use it until then'),
          ),
          365,
        ),
        perUser: v.optional(
          v.pipe(
            count('tokens', 'How many API tokens a user can have.'),
            atMost(25, 'which their deletion removes in one transaction'),
          ),
          10,
        ),
      }),
    ),
    {},
  ),
  deletionEndsSessions: flag(
    'Whether the deletion of a user ends their sessions at once. Without it, the latest 50 can ' +
      'read what requires no role until their tokens expire.',
    false,
  ),
};
