import type { Key } from '../table/keys.ts';
import { attributesAre, isAbsent, put, type Write } from '../table/write.ts';
import type { Occasion } from './occasion.ts';

/** Invitations need no limit: only administrators cause them. */
type LimitedOccasion = Exclude<Occasion, 'invitation'>;

/**
 * The maximum number of mails to one account on one occasion within an hour; of resets, to one
 * mailbox. Anyone can trigger a reset mail. The limit of notices is higher: otherwise a thief could
 * use it up with harmless changes, so that no notice of the next one is sent.
 */
export const MAILS_PER_WINDOW: Readonly<Record<LimitedOccasion, number>> = {
  reset: 5,
  emailConfirmation: 5,
  passwordChanged: 20,
  emailChanged: 20,
  secondFactorChanged: 20,
};
const WINDOW_SECONDS = 60 * 60;

/** The id under which the reset mails of all accounts are counted. No user has it. */
export const ALL_USERS = 0;

/**
 * The number of mails to an account on one occasion, of resets to one mailbox, in the current
 * window.
 */
export interface MailCount {
  readonly n: number;
  /** The start of the window in milliseconds since 1970. */
  readonly since: number;
}

/**
 * Returns the write that counts one more mail, or undefined if the limit is reached and no mail may
 * be sent. Its condition keeps concurrent mails within the limit. `now` is in milliseconds since
 * 1970.
 */
export function countMail(
  key: Key,
  count: MailCount | undefined,
  now: number,
  limit: number,
): Write | undefined {
  const current = count && now < count.since + WINDOW_SECONDS * 1000 ? count : undefined;
  if (current && current.n >= limit) return undefined;
  const { n, since } = current ?? { n: 0, since: now };
  const expires = Math.ceil(since / 1000) + WINDOW_SECONDS;
  const unchanged = count ? attributesAre({ n: count.n, since: count.since }) : isAbsent();
  return { ...put(key, { n: n + 1, since, expires }), ...unchanged };
}
