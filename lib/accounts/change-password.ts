import type { Source } from '../contract/source.ts';
import { notified } from '../mail/outbox.ts';
import type { PasswordPolicy } from '../passwords/password-policy.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { settleAll } from '../runtime/waiting.ts';
import type { Write } from '../table/write.ts';
import { attemptBy, type LoginThrottle } from '../throttle/login-throttle.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { passwordChange } from '../users/credential-table.ts';
import { sessionKept } from '../users/session-item.ts';
import type { User } from '../users/user.ts';
import { auditEventFor } from '../users/user-table.ts';
import { requireSamePassword } from './owner-proof.ts';

/**
 * Changes the caller's password and notifies the user by mail. The session of the request stays;
 * the user's others end. Fails with wrong-password, with invalid-token, with
 * too-many-attempts under the same limits as a login, and as the policy does, which does not count
 * as an attempt, unless the login or the address is changed meanwhile.
 */
export async function changePassword(
  {
    passwords,
    policy,
    throttle,
  }: { passwords: Passwords; policy: PasswordPolicy; throttle: LoginThrottle },
  caller: AuthorizedCaller,
  source: Source,
  currentPassword: string,
  newPassword: string,
): Promise<void> {
  policy.requireLength('newPassword', newPassword);
  // Outside the retried change: unauthorized callers and retries do not count as login attempts.
  const user = await caller.findUser();
  const requireUncommon = (account: User) => policy.requireUncommon(newPassword, account);
  requireUncommon(user);
  await throttle.attempt(attemptBy(caller, user, source), {
    async verify() {
      // Concurrently: neither depends on the other, and a wrong password is rare.
      const [matches, passwordHash] = await settleAll([
        passwords.matches(currentPassword, user.passwordHash),
        passwords.hash(newPassword),
      ]);
      return matches
        ? (clearFailures) =>
            replacePassword(caller, user, { passwordHash, requireUncommon, clearFailures })
        : { failure: 'wrong-password' };
    },
    keepsFailures: user.secondFactor !== undefined,
  });
}

interface Replacement {
  readonly passwordHash: string;
  /** Fails with common-password if the account forbids the new password. */
  readonly requireUncommon: (account: User) => void;
  readonly clearFailures: (now: number) => readonly Write[];
}

/**
 * Replaces the password that was verified of `user`. Fails with wrong-password if it is another.
 */
function replacePassword(
  caller: AuthorizedCaller,
  user: User,
  { passwordHash, requireUncommon, clearFailures }: Replacement,
): Promise<void> {
  return caller.change({
    decide({ callerUser, now }) {
      requireSamePassword(callerUser, user);
      // The login or the address can be another one by now.
      requireUncommon(callerUser);
      return {
        writes: [
          passwordChange(callerUser, passwordHash),
          sessionKept(caller, callerUser, 'passwordChanges'),
          notified('passwordChanged', callerUser, now),
          ...clearFailures(now),
        ],
        result: undefined,
        event: auditEventFor('password.changed', callerUser, []),
      };
    },
  });
}
