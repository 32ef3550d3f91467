import { auditDays, auditEntry } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import type { Mailer } from '../mail/mail.ts';
import { findMailCount, mailCounted } from '../mail/mail-limit.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { RESERVE } from '../runtime/aws.ts';
import { setDeadline } from '../runtime/deadline.ts';
import { logError } from '../runtime/log.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { sleep } from '../runtime/sleep.ts';
import { change, type Decision } from '../table/change.ts';
import { emailGuardKey, resetKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { remove, versionIs, withCondition } from '../table/write.ts';
import { emailKey, formerEmailKey, heldEmailKey } from '../users/email-key.ts';
import { hashOf, newResetKey, type Reset } from '../users/reset-key.ts';
import type { User } from '../users/user.ts';
import { auditEventFor, findUser, passwordChange } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';

/** How long every request for a key takes, whether the address is known or not; docs/adr/0006 has the margin. Milliseconds. */
const DURATION = 2000;
/** What the work for a known address leaves of it: a call that is given up may still be on its way. */
const MARGIN = 200;

/**
 * Mails a key to the activated account with this address, if there is one and it has not had its share of such mails.
 * Takes the same time whatever happens: the work must be over before the answer, because nothing runs after it, and what
 * goes wrong is logged, because telling it would tell that the address is known. Fails with too-many-attempts when the
 * source sends too many requests, and with unavailable when they cannot be counted, whatever the address.
 */
export async function requestReset(
  { table, mailer, throttle }: { table: Table; mailer: Mailer; throttle: LoginThrottle },
  source: Source,
  address: string,
): Promise<void> {
  await throttle.countRequest(source);
  const over = sleep(DURATION);
  // Calls to AWS end RESERVE before the clock does: here that is just before the duration is over.
  setDeadline(DURATION - MARGIN + RESERVE);
  try {
    const load = async () => {
      const user = await findUserByEmail(table, address);
      return user && { user, mails: await findMailCount(table, user.id, 'reset') };
    };
    const mail = await change(table, load, (loaded, now): Decision<{ user: User; key: string } | undefined> => {
      const counted = loaded?.user.activated && mailCounted(loaded.user.id, 'reset', loaded.mails, now);
      if (!counted) return { writes: [], result: undefined };
      const { key, write } = newResetKey(loaded.user, now);
      return { writes: [write, counted], result: { user: loaded.user, key } };
    });
    if (mail) await mailer.sendLink('reset', mail.user, mail.key);
  } catch (error) {
    logError('resetNotSent', error);
  }
  await over;
}

async function findUserByEmail(table: Table, address: string): Promise<User | undefined> {
  // The former key first: it finds an account by exactly the address that it was created with.
  for (const key of new Set([formerEmailKey(address), emailKey(address)])) {
    const guard = await table.get(emailGuardKey(key));
    const user = guard && (await findUser(table, guard.id as number));
    if (user && heldEmailKey(user) === key) return user;
  }
  return undefined;
}

/**
 * Sets the password of the account that the key was mailed to; none of its tokens changes anything any more. The key has
 * proved who reads the mailbox: the network that the request comes from is known from now on, and failed logins are
 * forgotten. The user is told by mail.
 * Fails with unknown-key: used, expired, never given, or overtaken by a change of the password or the address; with
 * too-many-attempts when the source sends too many requests.
 */
export async function finishReset(
  {
    table,
    passwords,
    throttle,
    mailer,
  }: { table: Table; passwords: Passwords; throttle: LoginThrottle; mailer: Mailer },
  source: Source,
  key: string,
  wanted: string,
): Promise<void> {
  await throttle.countRequest(source);
  const at = resetKey(hashOf(key));
  let hashing: Promise<string> | undefined;
  const load = async () => {
    const reset = (await table.get(at)) as Reset | undefined;
    const user = reset && (await findUser(table, reset.userId));
    if (!reset || !user || !isGood(reset, user)) return undefined;
    hashing ??= passwords.hash(wanted);
    const [passwordHash, mails, proved] = await settleAll([
      hashing,
      findMailCount(table, user.id, 'passwordChanged'),
      throttle.mailboxProven(user.login, source),
    ]);
    return { user, passwordHash, mails, proved };
  };
  const notified = await change(table, load, (loaded, now) => {
    if (!loaded) throw new Failure('unknown-key');
    const { user, passwordHash, mails, proved } = loaded;
    const mail = mailCounted(user.id, 'passwordChanged', mails, now);
    const once = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    const writes = [
      withCondition(passwordChange(user, passwordHash), versionIs(user)),
      remove(at, once),
      ...proved,
      ...(mail ? [mail] : []),
      auditEntry(user, auditEventFor('password.reset', user), { now, auditDays: auditDays() }),
    ];
    return { writes, result: mail && user };
  });
  if (notified) await mailer.notify('passwordChanged', notified);
}

function isGood(reset: Reset, user: User): boolean {
  return Date.now() / 1000 < reset.expires && user.activated && reset.resetStamp === user.resetStamp;
}
