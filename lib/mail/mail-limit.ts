import { mailCountKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type Condition, put, type Write } from '../table/write.ts';
import type { Occasion } from './occasion.ts';

/** Invitations need no limit: an account is created once, by an administrator. */
type LimitedOccasion = Exclude<Occasion, 'invitation'>;

/**
 * How many mails one account gets on one occasion within the window. Anybody can cause a reset mail. A notice needs a
 * change, and whoever could use up the notices by harmless changes would hide the next one.
 */
export const MAILS_PER_WINDOW: Readonly<Record<LimitedOccasion, number>> = {
  reset: 5,
  passwordChanged: 20,
  emailChanged: 20,
};
/** Seconds. */
const WINDOW = 60 * 60;

/** The mails that an account has got on one occasion. */
export interface MailCount {
  readonly n: number;
  /** When the window began; milliseconds since 1970. */
  readonly since: number;
}

/** What is stored of an account's mails on one occasion, or undefined. */
export async function findMailCount(
  table: Table,
  userId: number,
  occasion: LimitedOccasion,
): Promise<MailCount | undefined> {
  return (await table.get(mailCountKey(userId, occasion))) as MailCount | undefined;
}

/**
 * The write that counts one more mail, or undefined when the account has had its share: then no mail is sent. It belongs
 * in the transaction of what the mail is about, so that requests at the same moment cannot exceed the limit.
 */
export function mailCounted(
  userId: number,
  occasion: LimitedOccasion,
  count: MailCount | undefined,
  now: number,
): Write | undefined {
  const current = count && now < count.since + WINDOW * 1000 ? count : undefined;
  if (current && current.n >= MAILS_PER_WINDOW[occasion]) return undefined;
  const { n, since } = current ?? { n: 0, since: now };
  const expires = Math.ceil(since / 1000) + WINDOW;
  return { ...put(mailCountKey(userId, occasion), { n: n + 1, since, expires }), ...asRead(count) };
}

function asRead(count: MailCount | undefined): Condition {
  if (!count) return { condition: 'attribute_not_exists(pk)', onConditionFailed: 'retry' };
  return {
    condition: '#n = :n AND #since = :since',
    names: { '#n': 'n', '#since': 'since' },
    values: { ':n': count.n, ':since': count.since },
    onConditionFailed: 'retry',
  };
}
