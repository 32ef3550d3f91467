import { Failure } from '../contract/failure.ts';
import { codePoints } from '../contract/fields.ts';
import { requireEnv } from '../runtime/execution-environment.ts';
import { type Account, isVariation, readCommonPasswords, wordsOf } from './common-passwords.ts';
import { LENGTH } from './password-schema.ts';

/** The settings of an environment for new passwords. */
interface PasswordSettings {
  /** The length in code points. */
  readonly minimum: number;
  readonly rejectCommon: boolean;
}

/**
 * What an environment requires of new passwords beyond the API contract, which the schema of the
 * request enforces.
 */
export interface PasswordPolicy {
  /** Fails with `invalid` if the password in a field is too short. */
  requireLength(field: string, password: string): void;
  /** Fails with common-password if this password of an account is easy to guess. */
  requireUncommon(password: string, account: Account): void;
}

/** Opens the policy of the stack, or one with other settings. */
export function openPasswordPolicy(
  { minimum, rejectCommon }: PasswordSettings = {
    minimum: Number(requireEnv('PASSWORD_MINIMUM')),
    rejectCommon: process.env.REJECT_COMMON_PASSWORDS === 'true',
  },
): PasswordPolicy {
  const commonPasswords = rejectCommon ? readCommonPasswords() : undefined;
  return {
    requireLength(field, password) {
      if (codePoints(password) >= minimum) return;
      const { max } = LENGTH;
      throw new Failure('invalid', {
        fieldErrors: [{ field, message: 'Size', min: minimum, max }],
      });
    },

    requireUncommon(password, account) {
      if (commonPasswords && isVariation(password, commonPasswords, wordsOf(account)))
        throw new Failure('common-password');
    },
  };
}
