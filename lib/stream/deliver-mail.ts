import { anonymous, auditEntry } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import { siteOf } from '../contract/source.ts';
import { isReachable } from '../mail/address.ts';
import type { MailContent, Mailer, Recipient } from '../mail/mail.ts';
import {
  type Addressee,
  allResetsKey,
  countMail,
  hasFreshKey,
  type MailCount,
  mailboxResetsKey,
  mailCountKey,
  mailsTo,
  resetsFor,
  resetsToMailbox,
  sourceResetMailsKey,
} from '../mail/mail-limit.ts';
import { isNotice, type Occasion, type OutboxMail } from '../mail/outbox.ts';
import { log, logError } from '../runtime/log.ts';
import { commitWithRetries, type Decision, loadDecideCommit } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, remove, set, type Write } from '../table/write.ts';
import {
  isOfProvider,
  mailboxHashOf,
  newConfirmationKey,
  newResetKey,
} from '../users/mailed-keys.ts';
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
      readonly content?: MailContent;
    }
  | 'resets-used-up'
  | 'unreachable'
  | undefined;

/** What was read to decide on a mail. */
interface Loaded {
  readonly mail: OutboxMail;
  /** The user of a mail with a key, if there is one that may still be mailed. */
  readonly user?: User | undefined;
  readonly count?: MailCount | undefined;
  /** Of an invitation: the person who invites. */
  readonly inviter?: User | undefined;
  /** Of a reset: the counts of `resetCountKeys`. */
  readonly counts?: readonly (MailCount | undefined)[];
}

/**
 * Sends the mail of an outbox item, then deletes the item: a mail that is handed over again has
 * been sent. An item is deleted without a mail when it has expired, when the limit of mails to its
 * account is reached, and when there is nobody to send it to or SES cannot reach the address. It
 * stays when the limit of resets to all accounts is reached, for an operator to send. Throws errors
 * of the SDK, also unavailable, after which the item remains.
 */
export async function deliverMail(
  { table, mailer, resetsPerHour }: Services,
  itemKey: Key,
): Promise<void> {
  const load = () => loadMail(table, itemKey);
  const decide = (loaded: Loaded | undefined, now: number): Decision<Outgoing> =>
    loaded && now / 1000 < loaded.mail.expires
      ? decideMail(itemKey, loaded, resetsPerHour, now)
      : NOTHING;
  const outgoing = await loadDecideCommit(table, load, decide);
  if (outgoing === 'resets-used-up') return logMailNotSent(new Failure('too-many-attempts'));
  if (outgoing === 'unreachable') {
    // Any user can set such an address, so it must neither raise the alarm nor leave an item.
    log({ mailsUnreachable: 1 }, { field: 'mailsUnreachable', unit: 'Count', dimensions: [[]] });
  } else if (outgoing) {
    const { occasion, recipient, content } = outgoing;
    await mailer.send(occasion, recipient, content);
    log({ mailSent: occasion });
  }
  // Unconditional: of two executions with the same item, the second one deletes nothing. With
  // retries: a mail whose item remains is sent again.
  await commitWithRetries(table, () => [remove(itemKey)]);
}

async function loadMail(table: Table, itemKey: Key): Promise<Loaded | undefined> {
  const mail = (await table.get(itemKey)) as OutboxMail | undefined;
  if (!mail) return undefined;
  switch (mail.occasion) {
    case 'reset': {
      const user = await findUserByEmail(table, mail.email);
      if (!user?.activated || isOfProvider(user)) return { mail };
      const counts = await table.getAll(Object.values(resetCountKeys(user, mail)));
      return { mail, user, counts: counts as unknown as (MailCount | undefined)[] };
    }
    case 'invitation': {
      const user = await findUser(table, mail.userId);
      const isWanted =
        user?.activated &&
        !user.passwordHash &&
        !user.identities &&
        user.incarnation === mail.incarnation;
      if (!isWanted) return { mail };
      const { inviterId } = mail;
      return { mail, user, inviter: inviterId ? await findUser(table, inviterId) : undefined };
    }
    case 'emailConfirmation': {
      const { userId, occasion, securityStamp } = mail;
      const user = await findUser(table, userId);
      if (!user?.activated || user.securityStamp !== securityStamp) return { mail };
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
  { mail, user, count, inviter, counts = [] }: Loaded,
  resetsPerHour: number,
  now: number,
): Decision<Outgoing> {
  const { occasion } = mail;
  const address = user?.email ?? (isNotice(mail) ? mail.email : undefined);
  if (address !== undefined && !isReachable(address)) return { writes: [], result: 'unreachable' };
  /** Unless the mail is counted already; undefined if the limit is reached. */
  const countOfAccount = (userId: number, limited: Occasion, addressee: Addressee) => {
    if (mail.counted) return [];
    const key = mailCountKey(userId, limited);
    const write = countMail(key, count, now, mailsTo(addressee, limited));
    return write && [write, ...markedAsCounted(itemKey, mail)];
  };
  if (isNotice(mail)) {
    const counted = countOfAccount(mail.userId, mail.occasion, mail);
    return counted ? { writes: counted, result: { occasion, recipient: mail } } : NOTHING;
  }
  if (!user) return NOTHING;
  if (occasion === 'emailConfirmation') {
    const counted = countOfAccount(user.id, occasion, user);
    if (!counted) return NOTHING;
    const { newEmail } = mail;
    const { key, write } = newConfirmationKey(user, newEmail, now);
    return {
      writes: [...counted, write],
      result: { occasion, recipient: user, content: { key, newEmail } },
    };
  }
  const { key, write } = newResetKey(user, now);
  const result = { occasion, recipient: user, content: { key } };
  if (occasion === 'invitation') {
    // Whoever has invited may have been deleted since.
    const content = { key, inviter: inviter ? nameOf(inviter) : user.createdBy };
    return {
      writes: [...markedAsCounted(itemKey, mail), write],
      result: { ...result, content },
    };
  }
  if (mail.counted) return { writes: [write], result };
  const counted = countReset(mail, user, counts, resetsPerHour, now);
  if (counted === 'too-many') return NOTHING;
  if (counted === 'resets-used-up') return { writes: [], result: counted };
  const event = auditEventFor('reset.requested', user, []);
  const entry = auditEntry(anonymous(mail.source), event, now);
  return { writes: [...counted, ...markedAsCounted(itemKey, mail), write, entry], result };
}

const nameOf = ({ firstName, lastName, login }: User): string =>
  [firstName, lastName].filter(Boolean).join(' ') || login;

/** The keys of the counts that a reset adds to. */
const resetCountKeys = (user: User, { source = '' }: { readonly source?: string }) => ({
  ofMailbox: mailboxResetsKey(mailboxHashOf(user)),
  ofAccount: mailCountKey(user.id, 'reset'),
  ofSource: sourceResetMailsKey(siteOf(source)),
  ofAll: allResetsKey,
});

/**
 * The writes that count a reset. Whoever causes many can exhaust neither what one person receives
 * nor what all need: 'too-many' if the mailbox or the account has received enough, or a key that
 * still works a short time ago; 'resets-used-up' if what is left is kept for other sources.
 */
function countReset(
  mail: { readonly source?: string },
  user: User,
  [toMailbox, toAccount, ofSource, ofAll]: readonly (MailCount | undefined)[],
  resetsPerHour: number,
  now: number,
): Write[] | 'too-many' | 'resets-used-up' {
  if (toMailbox && hasFreshKey(toMailbox, user, now)) return 'too-many';
  const keys = resetCountKeys(user, mail);
  const mailed = { lastAt: now, securityStamp: user.securityStamp };
  const own = [
    countMail(keys.ofMailbox, toMailbox, now, resetsToMailbox(user), mailed),
    countMail(keys.ofAccount, toAccount, now, mailsTo(user, 'reset')),
  ];
  const shared = [
    countMail(keys.ofSource, ofSource, now, Number.POSITIVE_INFINITY),
    countMail(keys.ofAll, ofAll, now, resetsFor(ofSource, resetsPerHour, now)),
  ];
  if (!own.every((write) => write !== undefined)) return 'too-many';
  if (!shared.every((write) => write !== undefined)) return 'resets-used-up';
  return [...own, ...shared];
}

const NOTHING = { writes: [], result: undefined } as const;

/** The write that marks a mail whose sending begins, on condition that it exists without a mark. */
const markedAsCounted = (itemKey: Key, { occasion, counted }: OutboxMail): Write[] =>
  counted ? [] : [set(itemKey, { counted: true }, attributesAre({ occasion, counted: undefined }))];

/** Logs and counts a mail that was not sent, without its address. */
export function logMailNotSent(error: unknown): void {
  const metric = { field: 'mailsNotSent', unit: 'Count', dimensions: [[]] } as const;
  logError('mailNotSent', error, { mailsNotSent: 1 }, metric);
}
