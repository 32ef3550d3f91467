import { auditEntry } from '../audit/audit-entry.ts';
import { takePrecedence } from '../authorization/precedence.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { logMailNotSent } from '../mail/log-mail-not-sent.ts';
import type { Mailer } from '../mail/mail.ts';
import { countMail, findMailCount, type MailCount } from '../mail/mail-limit.ts';
import type { PasswordHasher } from '../passwords/hasher.ts';
import { CALL_RESERVE_MS, setDeadline } from '../runtime/deadline.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { sleep } from '../runtime/sleep.ts';
import { change, type Decision } from '../table/change.ts';
import { emailGuardKey, entityKey, type Key, mailCountKey, resetItemKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { EXISTS, remove, versionIs, withCondition } from '../table/write.ts';
import { emailKey, formerEmailKey, heldEmailKey } from '../users/email-key.ts';
import { hashOf, newResetKey, type StoredResetKey } from '../users/reset-key.ts';
import type { User } from '../users/user.ts';
import { auditEventFor, findUser, passwordChange, userOf } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { mailboxProven } from './login-throttle-rules.ts';

/** The fixed duration of every reset request, whether or not the address is known; docs/adr/0006 derives the margin. */
const DURATION_MS = 2000;
/** The time left unused at the end of that duration: an aborted call may still be in flight. */
const MARGIN_MS = 200;

/**
 * Mails a reset key to the activated account with this address, if one exists and its mail limit is not reached. Always
 * takes the same time, so that the timing does not reveal whether the address is known. The work finishes before the
 * response because Lambda runs nothing after it. Errors are logged, not returned: they would reveal a known address.
 * Fails with too-many-attempts when the source sends too many requests, and with unavailable when they cannot be
 * counted; both are independent of the address.
 */
export async function requestReset(
  { table, mailer, throttle }: { table: Table; mailer: Mailer; throttle: LoginThrottle },
  source: Source,
  address: string,
): Promise<void> {
  const { count } = await throttle.beginRequest(source);
  await count();
  const durationElapsed = sleep(DURATION_MS);
  // AWS calls end CALL_RESERVE_MS before the deadline, which here is MARGIN_MS before the end of the duration.
  setDeadline(DURATION_MS - MARGIN_MS + CALL_RESERVE_MS);
  try {
    const load = async () => {
      const user = await findUserByEmail(table, address);
      return user && { user, mails: await findMailCount(table, user.id, 'reset') };
    };
    const mail = await change(table, load, (loaded, now): Decision<{ user: User; key: string } | undefined> => {
      const counted = loaded?.user.activated && countMail(loaded.user.id, 'reset', loaded.mails, now);
      if (!counted) return { writes: [], result: undefined };
      const { key, write } = newResetKey(loaded.user, now);
      return { writes: [write, counted], result: { user: loaded.user, key } };
    });
    if (mail) await mailer.sendLink('reset', mail.user, mail.key);
  } catch (error) {
    logMailNotSent('resetNotSent', error);
  }
  await durationElapsed;
}

async function findUserByEmail(table: Table, address: string): Promise<User | undefined> {
  // Try the former key first: it finds an account by the exact address with which it was created.
  for (const key of new Set([formerEmailKey(address), emailKey(address)])) {
    const guard = await table.get(emailGuardKey(key));
    const user = guard && (await findUser(table, guard.id as number));
    if (user && heldEmailKey(user) === key) return user;
  }
  return undefined;
}

/**
 * Sets the password of the account to which the key was mailed, and notifies the user by mail. All tokens of the
 * account become read-only. The key proves control of the mailbox, so the request's network becomes known and failed
 * logins are cleared. Fails with unknown-key when the key was used, has expired, was never issued, was invalidated by a
 * change of the password or address, or belongs to a deactivated account; with too-many-attempts when the source sends
 * too many requests.
 */
export async function finishReset(
  {
    table,
    hasher,
    throttle,
    mailer,
  }: { table: Table; hasher: PasswordHasher; throttle: LoginThrottle; mailer: Mailer },
  source: Source,
  key: string,
  newPassword: string,
): Promise<void> {
  const itemKey = resetItemKey(hashOf(key));
  const { count, items } = await throttle.beginRequest(source, [itemKey]);
  const [issuedKey] = items as unknown as [StoredResetKey | undefined];
  const counted = count();
  let hashing: Promise<string> | undefined;
  const load = async () => {
    const [, found] = await settleAll([counted, readKeyAndUser(table, itemKey, issuedKey)]);
    // No hash is computed for a key that the decision would reject.
    if (!found || !isUsable(found.storedKey, found.user, Date.now())) return undefined;
    hashing ??= hasher.hash(newPassword);
    const [passwordHash, failureKeys] = await settleAll([hashing, throttle.keysOf(found.user.login, source)]);
    return { ...found, passwordHash, failureKeys };
  };
  // Somebody with a stolen token could otherwise prevent the reset by a stream of changes.
  const onContention = async () => {
    if (issuedKey) await takePrecedence(table, issuedKey.userId);
  };
  const decide = (loaded: Awaited<ReturnType<typeof load>>, now: number) => {
    if (!loaded || !isUsable(loaded.storedKey, loaded.user, now)) throw new Failure('unknown-key');
    const { user, passwordHash, mails, failureKeys } = loaded;
    const mail = countMail(user.id, 'passwordChanged', mails, now);
    const writes = [
      withCondition(passwordChange(user, passwordHash), versionIs(user)),
      // Otherwise the key has been used meanwhile.
      remove(itemKey, EXISTS),
      ...mailboxProven(failureKeys, now),
      ...(mail ? [mail] : []),
      auditEntry(user, auditEventFor('password.reset', user), now),
    ];
    return { writes, result: mail && user };
  };
  const notified = await change(table, load, decide, onContention);
  if (notified) await mailer.notify('passwordChanged', notified);
}

/** Reads the key again, because it may have been used since, with its user and the count of notices to the user. */
async function readKeyAndUser(table: Table, itemKey: Key, issuedKey: StoredResetKey | undefined) {
  if (!issuedKey) return undefined;
  const { userId } = issuedKey;
  const keys = [itemKey, entityKey('USER', userId), mailCountKey(userId, 'passwordChanged')];
  const [storedKey, user, mails] = (await table.getAll(keys)) as unknown as [StoredResetKey?, Item?, MailCount?];
  return storedKey && user && { storedKey, user: userOf(user), mails };
}

function isUsable(storedKey: StoredResetKey, user: User, now: number): boolean {
  return now / 1000 < storedKey.expires && user.activated && storedKey.resetStamp === user.resetStamp;
}
