import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import type { Mailer } from '../mail/mail.ts';
import { findMailCount, mailCounted } from '../mail/mail-limit.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { auditEventFor, passwordChange } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';

/**
 * Changes the caller's own password. The token that asked goes on as before; all others of this user can change nothing
 * any more. The user is told by mail. Fails with unauthorized when the account is gone, forbidden when it is deactivated, too-many-attempts as a
 * login does, and wrong-password.
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
  current: string,
  wanted: string,
): Promise<void> {
  // A caller without access makes no attempt; nor does a further try of the change.
  const user = await caller.findUser();
  const attempt = await throttle.recordAttempt(user.login, source);
  if (!(await passwords.matches(current, user.passwordHash))) throw new Failure('wrong-password');
  const passwordHash = await passwords.hash(wanted);

  const load = () => findMailCount(table, user.id, 'passwordChanged');
  const notified = await caller.change(load, (mails, callerUser, now) => {
    // The same token has changed it since: the password that was verified is not the current one any more.
    if (callerUser.passwordChanges !== user.passwordChanges) throw new Failure('wrong-password');
    const mail = mailCounted(callerUser.id, 'passwordChanged', mails, now);
    return {
      writes: [passwordChange(callerUser, passwordHash, caller.jti), ...(mail ? [mail] : [])],
      result: mail && callerUser,
      event: auditEventFor('password.changed', callerUser),
    };
  });
  await settleAll([attempt.clearFailures(), Promise.resolve(notified && mailer.notify('passwordChanged', notified))]);
}
