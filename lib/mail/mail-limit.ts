import { mailCountKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, isAbsent, put, type Write } from '../table/write.ts';
import type { Occasion } from './occasion.ts';

/** Invitations need no limit: an administrator creates an account once. */
type LimitedOccasion = Exclude<Occasion, 'invitation'>;

/**
 * The maximum number of mails to one account on one occasion within an hour. Anyone can trigger a reset mail. The limit
 * of notices is higher: whoever has stolen the account could otherwise exhaust it with harmless changes, to hide
 * the next notice.
 */
export const MAILS_PER_WINDOW: Readonly<Record<LimitedOccasion, number>> = {
  reset: 5,
  passwordChanged: 20,
  emailChanged: 20,
};
const WINDOW_SECONDS = 60 * 60;

/** The number of mails to an account on one occasion in the current window. */
export interface MailCount {
  readonly n: number;
  /** Start of the window; milliseconds since 1970. */
  readonly since: number;
}

/** Reads the stored count of an account on one occasion; its window may have ended. */
export async function findMailCount(
  table: Table,
  userId: number,
  occasion: LimitedOccasion,
): Promise<MailCount | undefined> {
  return (await table.get(mailCountKey(userId, occasion))) as MailCount | undefined;
}

/**
 * Returns the write that counts one more mail, or undefined if the limit is reached and no mail may be sent. The write
 * belongs in the transaction that the mail is about, so that concurrent requests cannot exceed the limit. `now` is in
 * milliseconds since 1970.
 */
export function countMail(
  userId: number,
  occasion: LimitedOccasion,
  count: MailCount | undefined,
  now: number,
): Write | undefined {
  const current = count && now < count.since + WINDOW_SECONDS * 1000 ? count : undefined;
  if (current && current.n >= MAILS_PER_WINDOW[occasion]) return undefined;
  const { n, since } = current ?? { n: 0, since: now };
  const expires = Math.ceil(since / 1000) + WINDOW_SECONDS;
  const unchanged = count ? attributesAre({ n: count.n, since: count.since }) : isAbsent();
  return { ...put(mailCountKey(userId, occasion), { n: n + 1, since, expires }), ...unchanged };
}
