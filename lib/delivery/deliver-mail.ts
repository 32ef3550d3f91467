import { ANONYMOUS, auditEntry } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Mailer, Recipient } from '../mail/mail.ts';
import { ALL_USERS, countMail, MAILS_PER_WINDOW, type MailCount } from '../mail/mail-limit.ts';
import type { Occasion } from '../mail/occasion.ts';
import type { OutboxMail } from '../mail/outbox.ts';
import { log, logError } from '../runtime/log.ts';
import { commit, type Decision, loadDecideCommit } from '../table/change.ts';
import { type Key, mailCountKey, resetCountKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, set, type Write } from '../table/write.ts';
import { newConfirmationKey } from '../users/confirmation-key.ts';
import { mailboxHashOf, newResetKey } from '../users/reset-key.ts';
import type { User } from '../users/user.ts';
import { auditEventFor, findUser, findUserByEmail } from '../users/user-table.ts';

interface Services {
  readonly table: Table;
  readonly mailer: Mailer;
  /** The limit on reset mails to all users together within an hour. */
  readonly resetsPerHour: number;
}

/** A mail that is to be sent now, with the key in its link if it has one; or why none is sent. */
type Outgoing =
  | {
      readonly occasion: Occasion;
      readonly recipient: Recipient;
      readonly key?: string;
      readonly newEmail?: string;
    }
  | 'resets-used-up'
  | undefined;

/** What was read to decide on a mail. */
interface Loaded {
  readonly mail: OutboxMail;
  /** The user of a mail with a key, if there is one that may still be mailed. */
  readonly user?: User | undefined;
  readonly count?: MailCount | undefined;
  readonly countOfAll?: MailCount | undefined;
}

/**
 * Sends the mail of an outbox item, then deletes the item: a mail that is handed over again has
 * been sent. An item is deleted without a mail when it has expired, when the limit of mails to its
 * account is reached, and when there is nobody to send it to. It stays when the limit of resets to
 * all accounts is reached, for an operator to send. Throws errors of the SDK, also unavailable,
 * after which the item remains.
 */
export async function deliverMail(
  { table, mailer, resetsPerHour }: Services,
  itemKey: Key,
): Promise<void> {
  const load = () => loadMail(table, itemKey);
  const decide = (loaded: Loaded | undefined, now: number): Decision<Outgoing> =>
    loaded && now / 1000 < loaded.mail.expires
      ? decideMail(itemKey, loaded, resetsPerHour, now)
      : { writes: [], result: undefined };
  const outgoing = await loadDecideCommit(table, load, decide);
  if (outgoing === 'resets-used-up') return logMailNotSent(new Failure('too-many-attempts'));
  if (outgoing) {
    const { occasion, recipient, key, newEmail } = outgoing;
    await mailer.send(occasion, recipient, key, newEmail);
    log({ mailSent: occasion });
  }
  // Unconditional: of two executions with the same item, the second one deletes nothing.
  if ((await commit(table, [{ act: 'Delete', key: itemKey }])) === 'busy')
    throw new Failure('unavailable');
}

async function loadMail(table: Table, itemKey: Key): Promise<Loaded | undefined> {
  const mail = (await table.get(itemKey)) as OutboxMail | undefined;
  if (!mail) return undefined;
  switch (mail.occasion) {
    case 'reset': {
      const user = await findUserByEmail(table, mail.email);
      if (!user?.activated) return { mail };
      const keys = [resetCountKeyOf(user), COUNT_OF_ALL];
      const [count, countOfAll] = (await table.getAll(keys)) as unknown as (
        | MailCount
        | undefined
      )[];
      return { mail, user, count, countOfAll };
    }
    case 'invitation': {
      const user = await findUser(table, mail.userId);
      const isWanted =
        user?.activated && !user.passwordHash && user.accountStamp === mail.accountStamp;
      return { mail, user: isWanted ? user : undefined };
    }
    case 'emailConfirmation': {
      const { userId, occasion, resetStamp } = mail;
      const user = await findUser(table, userId);
      if (!user?.activated || user.resetStamp !== resetStamp) return { mail };
      const count = await table.get(mailCountKey(userId, occasion));
      return { mail, user, count: count as MailCount | undefined };
    }
    default: {
      const count = await table.get(mailCountKey(mail.userId, mail.occasion));
      return { mail, count: count as MailCount | undefined };
    }
  }
}

/**
 * The keys and counts that a mail needs. A mail that is tried again has a new key and is not
 * counted again.
 */
function decideMail(
  itemKey: Key,
  { mail, user, count, countOfAll }: Loaded,
  resetsPerHour: number,
  now: number,
): Decision<Outgoing> {
  const { occasion } = mail;
  const countOfAccount = (userId: number, limited: keyof typeof MAILS_PER_WINDOW) =>
    countOnce(itemKey, mail, [
      countMail(mailCountKey(userId, limited), count, now, MAILS_PER_WINDOW[limited]),
    ]);
  if (occasion !== 'reset' && occasion !== 'invitation' && occasion !== 'emailConfirmation') {
    const counted = countOfAccount(mail.userId, occasion);
    return counted ? { writes: counted, result: { occasion, recipient: mail } } : NOTHING;
  }
  if (!user) return NOTHING;
  if (occasion === 'emailConfirmation') {
    const counted = countOfAccount(user.id, occasion);
    if (!counted) return NOTHING;
    const { newEmail } = mail;
    const { key, write } = newConfirmationKey(user, newEmail, now);
    return { writes: [...counted, write], result: { occasion, recipient: user, key, newEmail } };
  }
  const { key, write } = newResetKey(user, now);
  const result = { occasion, recipient: user, key };
  if (occasion === 'invitation') return { writes: [write], result };
  const { source } = mail;
  const ofAll = countMail(COUNT_OF_ALL, countOfAll, now, resetsPerHour);
  const counted = countOnce(itemKey, mail, [
    countMail(resetCountKeyOf(user), count, now, MAILS_PER_WINDOW.reset),
    ofAll,
  ]);
  if (!mail.counted && !ofAll) return { writes: [], result: 'resets-used-up' };
  if (!counted) return NOTHING;
  const event = { ...auditEventFor('reset.requested', user), source };
  const entries = mail.counted ? [] : [auditEntry(ANONYMOUS, event, now)];
  return { writes: [...counted, write, ...entries], result };
}

const COUNT_OF_ALL = mailCountKey(ALL_USERS, 'reset');
const resetCountKeyOf = (user: User): Key => resetCountKey(user.id, mailboxHashOf(user));

const NOTHING = { writes: [], result: undefined } as const;

/** The writes that count a mail unless it is counted already; undefined if a limit is reached. */
function countOnce(
  itemKey: Key,
  mail: OutboxMail,
  counts: (Write | undefined)[],
): Write[] | undefined {
  if (mail.counted) return [];
  const writes = counts.filter((write) => write !== undefined);
  if (writes.length < counts.length) return undefined;
  const uncounted = attributesAre({ occasion: mail.occasion, counted: undefined });
  return [...writes, set(itemKey, { counted: true }, uncounted)];
}

/** Logs and counts a mail that was not sent, without its address. */
export function logMailNotSent(error: unknown): void {
  const metric = { field: 'mailsNotSent', unit: 'Count', dimensions: [[]] } as const;
  logError('mailNotSent', error, { mailsNotSent: 1 }, metric);
}
