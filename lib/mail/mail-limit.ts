import * as v from 'valibot';
import { count, type ItemDeclaration } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';
import { attributesAre, isAbsent, put, type Write } from '../table/write.ts';
import { OCCASIONS, type Occasion } from './outbox.ts';

/**
 * The maximum number of mails to one account on one occasion within an hour. Anyone can trigger a
 * reset mail. The limit of notices is higher: otherwise a thief could use it up with harmless
 * changes, so that no notice of the next one is sent. Of invitations, only those are counted that
 * an administrator sends again.
 */
export const MAILS_PER_WINDOW: Readonly<Record<Occasion, number>> = {
  invitation: 5,
  reset: 10,
  emailConfirmation: 5,
  passwordChanged: 20,
  emailChanged: 20,
  secondFactorChanged: 20,
  codeRejected: 20,
  tokenCreated: 20,
  identityChanged: 20,
  rolesKept: 5,
  emergencyArmed: 20,
  emergencyUsed: 20,
  // An identity provider repeats what was refused.
  deactivationRefused: 1,
};
/** The same while the address of the account is unproven. */
const TO_UNPROVEN_MAX = 3;
/** The maximum number of resets that one mailbox receives within an hour, whoever has it. */
const RESETS_TO_MAILBOX = 5;
const RESETS_TO_UNPROVEN_MAILBOX = 1;
/** While a mailed key is unused, the mailbox receives no further one for this time. */
const FRESH_MS = 10 * 60 * 1000;
/** A source that has caused this number of resets within an hour has caused many. */
const MANY_OF_A_SOURCE = 5;
const WINDOW_SECONDS = 60 * 60;

/** The part of a user that decides how much mail may be sent. */
export interface Addressee {
  readonly emailUnproven?: true | undefined;
}

/** How many mails may be sent to an account on one occasion within an hour. */
export const mailsTo = ({ emailUnproven }: Addressee, occasion: Occasion): number =>
  Math.min(MAILS_PER_WINDOW[occasion], emailUnproven ? TO_UNPROVEN_MAX : Number.POSITIVE_INFINITY);

/** How many resets may be sent to the mailbox of an account within an hour. */
export const resetsToMailbox = ({ emailUnproven }: Addressee): number =>
  emailUnproven ? RESETS_TO_UNPROVEN_MAILBOX : RESETS_TO_MAILBOX;

/**
 * How many resets may have been sent to everybody for one more to be caused by a source. Half is
 * kept for sources that have caused few, so that no source can use up what the others need.
 */
export const resetsFor = (
  ofSource: MailCount | undefined,
  resetsPerHour: number,
  now: number,
): number =>
  (currentCount(ofSource, now)?.n ?? 0) < MANY_OF_A_SOURCE
    ? resetsPerHour
    : Math.floor(resetsPerHour / 2);

/** The number of mails of one kind in the current window. */
export interface MailCount {
  readonly n: number;
  /** The start of the window in milliseconds since 1970. */
  readonly since: number;
  /**
   * Of resets to a mailbox: when the last key was mailed, in milliseconds since 1970, and the
   * security stamp that it is bound to.
   */
  readonly lastAt?: number;
  readonly securityStamp?: string | undefined;
}

/**
 * Whether the mailbox has received a key a short time ago that still works: each use of a key
 * replaces the security stamp.
 */
export const hasFreshKey = (
  { lastAt = 0, securityStamp }: MailCount,
  user: { readonly securityStamp: string },
  now: number,
): boolean => now < lastAt + FRESH_MS && securityStamp === user.securityStamp;

const currentCount = (count: MailCount | undefined, now: number): MailCount | undefined =>
  count && now < count.since + WINDOW_SECONDS * 1000 ? count : undefined;

/**
 * Returns the write that counts one more mail, with what is known of it, or undefined if the limit
 * is reached and no mail may be sent. Its condition keeps concurrent mails within the limit. `now`
 * is in milliseconds since 1970.
 */
export function countMail(
  key: Key,
  count: MailCount | undefined,
  now: number,
  limit: number,
  known: Pick<MailCount, 'lastAt' | 'securityStamp'> = {},
): Write | undefined {
  const current = currentCount(count, now);
  if (current && current.n >= limit) return undefined;
  const { n, since } = current ?? { n: 0, since: now };
  const expires = Math.ceil(since / 1000) + WINDOW_SECONDS;
  const unchanged = count ? attributesAre({ n: count.n, since: count.since }) : isAbsent();
  return { ...put(key, { ...known, n: n + 1, since, expires }), ...unchanged };
}

export const mailCountKey = (userId: number, occasion: string): Key => ({
  pk: `MAILS#${idText(userId)}`,
  sk: occasion,
});
/** No user has this id: under it, the reset mails of all accounts are counted. */
const ALL_USERS = 0;
export const allResetsKey = mailCountKey(ALL_USERS, 'reset');
/** Whichever accounts have the mailbox in turn, it receives no more mails. */
export const mailboxResetsKey = (mailboxHash: string): Key =>
  mailCountKey(ALL_USERS, `reset#${mailboxHash}`);
export const sourceResetMailsKey = (source: string): Key =>
  mailCountKey(ALL_USERS, `reset#from ${source}`);
/**
 * Resets are also counted for all users (the id 0), for each mailbox, and for each source: an
 * address or an IPv6 /48.
 */
export const mailCountItem: ItemDeclaration = {
  pk: 'MAILS#<user id>',
  sk: ['<occasion>', 'reset#<SHA-256>', 'reset#from <source>'],
  matches: ({ sk }) => sk.startsWith('reset#') || OCCASIONS.includes(sk as Occasion),
  name: 'number of mails sent',
  attributes: () => v.object({ n: count, since: count, lastAt: v.optional(count), expires: count }),
  personal: ['expires'],
  onForget: 'delete',
  onRestore: 'keep',
};
