import { createHash, randomBytes } from 'node:crypto';
import { auditEntry } from '../audit/audit-entry.ts';
import { RESERVE } from '../aws.ts';
import { Failure } from '../failure.ts';
import { logError } from '../log.ts';
import type { Mailer } from '../mail/mail.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { change } from '../table/change.ts';
import { emailGuardKey, resetKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { also, claim, remove, unchanged, type Write } from '../table/write.ts';
import { startClock } from '../time-left.ts';
import { emailKey, formerEmailKey, heldEmailKey } from '../users/email-key.ts';
import type { User } from '../users/user.ts';
import { deedOn, findUser, passwordChange } from '../users/user-table.ts';

/** How long a key can be used, in seconds. */
const LIFE = 24 * 60 * 60;

/** How long every request for a key takes, whether the address is known or not; milliseconds. */
const DURATION = 1000;
/** What the work for a known address leaves of it: a call that is given up may still be on its way. */
const MARGIN = 200;

/** A key as it is stored: hashed, and good for one password and one state of the address only. */
interface Reset {
  readonly userId: number;
  /** The user's at the time; undefined for an account that has not had one yet. */
  readonly resetStamp: string | undefined;
  /** Seconds since 1970; the table forgets it some time later. */
  readonly expires: number;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A new key by which this user can set a password once within 24 hours, and the write that makes it good. */
export function newResetKey(user: User): { key: string; write: Write } {
  const key = randomBytes(32).toString('base64url');
  const reset: Reset = {
    userId: user.id,
    resetStamp: user.resetStamp,
    expires: Math.floor(Date.now() / 1000) + LIFE,
  };
  return { key, write: claim(resetKey(hashOf(key)), { ...reset }, 'reload') };
}

/**
 * Mails a key to the activated account with this address, if there is one. Never fails, and takes the same time whatever
 * happens: the work must be over before the answer, because nothing runs after it, and what goes wrong is logged,
 * because telling it would tell that the address is known.
 */
export async function requestReset(table: Table, mailer: Mailer, address: string): Promise<void> {
  const over = new Promise((resolve) => setTimeout(resolve, DURATION));
  // Calls to AWS end RESERVE before the clock does: here that is just before the duration is over.
  startClock(DURATION - MARGIN + RESERVE);
  try {
    const user = await findUserByEmail(table, address);
    if (user?.activated) {
      const { key, write } = newResetKey(user);
      await change(
        table,
        async () => undefined,
        () => ({ writes: [write], result: undefined }),
      );
      await mailer.sendLink('reset', user, key);
    }
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
 * Sets the password of the account that the key was mailed to; none of its tokens changes anything any more.
 * Fails with unknown-key: used, expired, never given, or overtaken by a change of the password or the address.
 */
export async function finishReset(table: Table, passwords: Passwords, key: string, wanted: string): Promise<void> {
  const at = resetKey(hashOf(key));
  const load = async () => {
    const reset = (await table.get(at)) as Reset | undefined;
    const user = reset && (await findUser(table, reset.userId));
    if (!reset || !user || !isGood(reset, user)) return undefined;
    return { user, passwordHash: await passwords.hash(wanted) };
  };
  await change(table, load, (loaded) => {
    if (!loaded) throw new Failure('unknown-key');
    const { user, passwordHash } = loaded;
    const once = { condition: 'attribute_exists(pk)', otherwise: 'reload' } as const;
    const writes = [
      also(passwordChange(user, passwordHash), unchanged(user)),
      remove(at, once),
      auditEntry(user, deedOn('password.reset', user)),
    ];
    return { writes, result: undefined };
  });
}

function isGood(reset: Reset, user: User): boolean {
  return Date.now() / 1000 < reset.expires && user.activated && reset.resetStamp === user.resetStamp;
}
