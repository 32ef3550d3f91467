import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import type { Mailer } from '../mail/mail.ts';
import { findMailCount, mailCounted } from '../mail/mail-limit.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { User } from '../users/user.ts';
import { auditEventFor, passwordChange } from '../users/user-table.ts';
import type { Attempt, LoginThrottle } from './login-throttle.ts';

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
  let attempt: Attempt | undefined;
  const load = async (callerUser: Promise<User>) => {
    // Whoever is rejected guesses nothing.
    const user = await callerUser;
    attempt ??= await throttle.recordAttempt(user.login, source);
    if (!(await passwords.matches(current, user.passwordHash))) return undefined;
    const [passwordHash, mails] = await settleAll([
      passwords.hash(wanted),
      findMailCount(table, user.id, 'passwordChanged'),
    ]);
    return { passwordHash, mails };
  };

  const notified = await caller.change(load, (loaded, callerUser) => {
    if (!loaded) throw new Failure('wrong-password');
    const mail = mailCounted(callerUser.id, 'passwordChanged', loaded.mails, Date.now());
    return {
      writes: [passwordChange(callerUser, loaded.passwordHash, caller.jti), ...(mail ? [mail] : [])],
      result: mail && callerUser,
      event: auditEventFor('password.changed', callerUser),
    };
  });
  await settleAll([
    Promise.resolve(attempt?.clearFailures()),
    Promise.resolve(notified && mailer.notify('passwordChanged', notified)),
  ]);
}
