import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { notified } from '../mail/outbox.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { auditEventFor, passwordChange } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';

/**
 * Changes the caller's password and notifies the user by mail. The caller's token keeps its rights;
 * the user's other tokens become read-only. Fails with wrong-password, with unauthorized when the
 * account has been deleted, with forbidden when it is deactivated, and with too-many-attempts under
 * the same limits as a login.
 */
export async function changePassword(
  { passwords, throttle }: { passwords: Passwords; throttle: LoginThrottle },
  caller: AuthorizedCaller,
  source: Source,
  currentPassword: string,
  newPassword: string,
): Promise<void> {
  // Outside the retried change: unauthorized callers and retries do not count as login attempts.
  const user = await caller.findUser();
  const { attempt } = await throttle.beginAttempt(
    { login: user.login, password: currentPassword },
    source,
  );
  await attempt.record().catch(attempt.takeBack);
  // Concurrently, and once for all retries: neither depends on the other, and a wrong password is
  // rare.
  const compute = () =>
    settleAll([passwords.matches(currentPassword, user.passwordHash), passwords.hash(newPassword)]);
  const hashing = compute().catch(attempt.takeBack);
  const decided = async () => {
    const [matches] = await hashing;
    await (matches ? attempt.clearFailures() : attempt.confirmFailure());
  };

  const changed = caller.change({
    loadEarly: () => hashing,
    decide: ({ loaded: [matches, passwordHash], callerUser, now }) => {
      // The password may also have been changed after it was verified, by a concurrent request with
      // the same token.
      if (!matches || callerUser.passwordChanges !== user.passwordChanges)
        throw new Failure('wrong-password');
      return {
        writes: [
          passwordChange(callerUser, passwordHash, caller.jti),
          notified('passwordChanged', callerUser, now),
        ],
        result: undefined,
        event: auditEventFor('password.changed', callerUser),
      };
    },
  });
  // In this order: a wrong password is not revealed unless it has been counted.
  await settleAll([decided(), changed]);
}
