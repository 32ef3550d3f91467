import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import type { Mailer } from '../mail/mail.ts';
import { countMail, findMailCount } from '../mail/mail-limit.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { auditEventFor, passwordChange } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';

/**
 * Changes the caller's password and notifies the user by mail. The caller's token keeps its rights; the user's other
 * tokens become read-only. Fails with wrong-password, with unauthorized when the account has been deleted, with
 * forbidden when it is deactivated, and with too-many-attempts under the same limits as a login.
 */
export async function changePassword(
  {
    table,
    passwords,
    throttle,
    mailer,
  }: { table: Table; passwords: Passwords; throttle: LoginThrottle; mailer: Mailer },
  caller: AuthorizedCaller,
  source: Source,
  currentPassword: string,
  newPassword: string,
): Promise<void> {
  // Outside the retried change: unauthorized callers and retries do not count as login attempts.
  const user = await caller.findUser();
  const attempt = await throttle.recordAttempt(user.login, source);
  if (!(await passwords.matches(currentPassword, user.passwordHash))) throw new Failure('wrong-password');
  const passwordHash = await passwords.hash(newPassword);

  const load = () => findMailCount(table, user.id, 'passwordChanged');
  const notified = await caller.change(load, (mails, callerUser, now) => {
    // A concurrent request with the same token changed the password after it was verified.
    if (callerUser.passwordChanges !== user.passwordChanges) throw new Failure('wrong-password');
    const mail = countMail(callerUser.id, 'passwordChanged', mails, now);
    return {
      writes: [passwordChange(callerUser, passwordHash, caller.jti), ...(mail ? [mail] : [])],
      result: mail && callerUser,
      event: auditEventFor('password.changed', callerUser),
    };
  });
  await settleAll([attempt.clearFailures(), Promise.resolve(notified && mailer.notify('passwordChanged', notified))]);
}
