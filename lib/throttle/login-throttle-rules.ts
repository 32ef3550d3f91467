import type { Decision } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import {
  attributesAre,
  type Condition,
  isAbsent,
  put,
  set,
  type Write,
  withCondition,
} from '../table/write.ts';
import {
  type SourceCounts,
  type SourceKeys,
  type SourceLimits,
  sourceBlockedUntil,
  tooManyAttempts,
} from './source-throttle.ts';

/*
 * Limits on password guessing. Each login has one failure count per network from which its account
 * has recently logged in, and one shared count for all other networks, so that an attacker
 * elsewhere cannot lock the user out of a known network.
 */

/**
 * How many attempts at a login need no wait. The failure of the last one begins a wait of a second;
 * each further failure doubles the wait, up to the maximum in seconds.
 */
const FREE_FAILURES = 10;
const WAIT_SECONDS_MAX = 15 * 60;
/** How long the failures of a login count after the last one. */
const FAILURE_MEMORY_SECONDS = 24 * 60 * 60;
/**
 * How many attempts with a right recovery code a login has a day in spite of the wait: nobody can
 * guess such a code, so only its owner or a thief of the code can use them up.
 */
const RECOVERIES_PER_DAY = 5;
/** How long a network stays known after a login. */
const KNOWN_NETWORK_SECONDS = 30 * 24 * 60 * 60;

/** The stored failure count of a login. */
interface LoginFailures extends LoginCount {
  /** When the network stops being known, or the failures stop counting; seconds since 1970. */
  readonly expires: number;
}

interface LoginCount {
  readonly n: number;
  /** When the last failure was counted, in milliseconds since 1970. */
  readonly last: number;
  /** Whether the audit trail already records a rejection because of these failures. */
  readonly rejected?: true;
  /** The network is known by a mailed key only, and until its free attempts are used up. */
  readonly byMail?: true;
  /** The hours and networks whose first failure the audit trail records, of this hour only. */
  readonly audited?: readonly string[];
}

/** The counts that decide on a login attempt; undefined where none is stored. */
export interface Failures extends SourceCounts {
  readonly network: LoginFailures | undefined;
  readonly elsewhere: LoginFailures | undefined;
  /** Attempts with a right recovery code during a wait; read only for those that can be one. */
  readonly recovery?: LoginFailures | undefined;
}

/** The keys under which the counts are stored. */
export type FailureKeys = SourceKeys & Readonly<Record<'network' | 'elsewhere' | 'recovery', Key>>;

/** A login attempt. The times differ if it was queued; in milliseconds since 1970. */
export interface TimedAttempt {
  readonly now: number;
  readonly arrivedAt: number;
  /** Whether its recovery code was found right, so that only the count of these makes it wait. */
  readonly hasRecoveryCode?: true;
}

/** The waiting period in seconds after this number of failures of a login. */
export function waitAfter(failures: number): number {
  return failures < FREE_FAILURES ? 0 : Math.min(2 ** (failures - FREE_FAILURES), WAIT_SECONDS_MAX);
}

const waitAfterRecoveries = (attempts: number): number =>
  attempts < RECOVERIES_PER_DAY ? 0 : FAILURE_MEMORY_SECONDS;

/** When the wait of a login ends, in milliseconds since 1970; 0 if there is none. */
function loginBlockedUntil(counts: Failures, attempt: TimedAttempt): number {
  const { n, last } = failuresBefore(counts, attempt);
  const wait = attempt.hasRecoveryCode ? waitAfterRecoveries(n) : waitAfter(n);
  return wait > 0 ? last + wait * 1000 : 0;
}

/**
 * Fails with too-many-attempts when the login attempt arrived during a waiting period: time spent
 * in a queue does not count as waiting.
 */
export function requireNoWait(counts: Failures, attempt: TimedAttempt, limits: SourceLimits): void {
  const { now, arrivedAt } = attempt;
  const retryAt = Math.max(
    loginBlockedUntil(counts, attempt),
    sourceBlockedUntil(counts, arrivedAt, limits),
  );
  if (arrivedAt < retryAt) throw tooManyAttempts(retryAt, now);
}

/**
 * An attempt that was counted as a failure in advance, the count before it, and whether the network
 * was known.
 */
export interface RecordedAttempt {
  readonly isKnown: boolean;
  readonly key: Key;
  readonly failures: LoginFailures;
  readonly before: LoginCount;
}

/** Counts an attempt as a failure before the password is verified. */
export function recordAttempt(
  keys: FailureKeys,
  counts: Failures,
  attempt: TimedAttempt,
): Decision<RecordedAttempt> {
  const { now } = attempt;
  const isKnown = isKnownNetwork(counts.network, now);
  const name = applicable(counts, attempt);
  const [key, stored] = [keys[name], counts[name]];
  const expires =
    name === 'network' && stored ? stored.expires : seconds(now) + FAILURE_MEMORY_SECONDS;
  // A right recovery code has a count of its own, and a log-in with it clears the other one.
  const cleared = isKnown ? counts.network : counts.elsewhere;
  const marks = new Set([...(cleared?.audited ?? []), ...(stored?.audited ?? [])]);
  const before = {
    ...failuresBefore(counts, attempt),
    ...(marks.size > 0 && { audited: [...marks] }),
  };
  const failures = { ...before, n: before.n + 1, last: now, expires };
  return {
    writes: [withCondition(put(key, { ...failures }), unchangedSinceRead(stored))],
    result: { isKnown, key, failures, before },
  };
}

/**
 * The write that marks the failures of a login because of which an attempt is rejected; undefined
 * if they are marked, or if only the source has sent too much.
 */
export function markRejected(
  keys: FailureKeys,
  counts: Failures,
  attempt: TimedAttempt,
): Write | undefined {
  const { n, last, rejected } = failuresBefore(counts, attempt);
  if (rejected || attempt.arrivedAt >= loginBlockedUntil(counts, attempt)) return undefined;
  return set(
    keys[applicable(counts, attempt)],
    { rejected: true },
    attributesAre({ n, last, rejected }),
  );
}

/** Takes back an attempt and the wait that it began, unless another one has been counted since. */
export const takeBackAttempt = ({ key, failures, before }: RecordedAttempt): Write =>
  withCondition(put(key, { ...before, expires: failures.expires }), unchangedSinceRead(failures));

/** Marks the failure of an attempt as audited, unless another one has been counted since. */
export const failureAudited = (
  { key, failures }: RecordedAttempt,
  audited: readonly string[],
): Write => set(key, { audited }, unchangedSinceRead(failures));

/**
 * What the failures of a login say once the first one of this hour in a network is in the audit
 * trail; undefined if it is there. Equal for logins that no account has. `now` is in milliseconds
 * since 1970.
 */
export function auditedWith(
  { failures: { audited = [] } }: RecordedAttempt,
  { network: { sk } }: FailureKeys,
  now: number,
): readonly string[] | undefined {
  const hour = `${Math.floor(now / 3_600_000)} `;
  const mark = hour + sk.slice('NETWORK#'.length, 'NETWORK#'.length + 8);
  if (audited.includes(mark)) return undefined;
  return [...audited.filter((each) => each.startsWith(hour)), mark];
}

const isKnownNetwork = (
  network: LoginFailures | undefined,
  now: number,
): network is LoginFailures =>
  network !== undefined &&
  now < network.expires * 1000 &&
  !(network.byMail && network.n >= FREE_FAILURES);

/** Which count applies to an attempt: of a known network, or of all other networks. */
function applicable(
  { network }: Failures,
  { now, hasRecoveryCode }: TimedAttempt,
): 'network' | 'elsewhere' | 'recovery' {
  if (hasRecoveryCode) return 'recovery';
  return isKnownNetwork(network, now) ? 'network' : 'elsewhere';
}

/** The failures that count for an attempt. */
function failuresBefore(counts: Failures, attempt: TimedAttempt): LoginCount {
  const stored = counts[applicable(counts, attempt)];
  if (!stored || attempt.now >= stored.last + FAILURE_MEMORY_SECONDS * 1000)
    return { n: 0, last: 0 };
  const { expires: _, ...count } = stored;
  return count;
}

/**
 * Resets the login's failure count and marks the network as known, after a correct password. The
 * writes are unconditional: a concurrent failed attempt on the same login is either cleared as well
 * or counted afterwards.
 */
export function clearFailures(
  keys: FailureKeys,
  isKnown: boolean,
  now: number,
  audited?: readonly string[],
): Write[] {
  const none = { n: 0, last: now, ...(audited && { audited }) };
  return [
    put(keys.network, { ...none, expires: seconds(now) + KNOWN_NETWORK_SECONDS }),
    ...(isKnown
      ? []
      : [put(keys.elsewhere, { ...none, expires: seconds(now) + FAILURE_MEMORY_SECONDS })]),
  ];
}

/**
 * Clears the failures and marks the network as known after a reset with a mailed key, which proves
 * control of the mailbox. An attacker elsewhere therefore cannot lock out the owner of the mailbox.
 */
export const mailboxProven = (keys: FailureKeys, now: number): Write[] =>
  clearFailures(keys, false, now);

/**
 * Makes the network of a reset with a mailed key known to a user with a second factor, with free
 * attempts that are counted from zero and nothing beyond: the mailbox proves nothing about codes,
 * so this must happen once a day at most. A network that is known by a login stays so.
 */
export function ownerAdmitted(
  keys: FailureKeys,
  network: LoginFailures | undefined,
  now: number,
): Write[] {
  const isKnown = isKnownNetwork(network, now) && !network.byMail;
  const known = isKnown
    ? { expires: network.expires }
    : { expires: seconds(now) + FAILURE_MEMORY_SECONDS, byMail: true };
  return [
    withCondition(put(keys.network, { n: 0, last: now, ...known }), unchangedSinceRead(network)),
  ];
}

/** Whether a reset may admit a user with a second factor again. */
export const mayAdmit = (
  { admittedAt = 0 }: { readonly admittedAt?: number | undefined },
  now: number,
) => now >= admittedAt + FAILURE_MEMORY_SECONDS * 1000;

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
/** The condition that no other login attempt has been counted since the read. */
function unchangedSinceRead(count: LoginCount | undefined): Condition {
  return count ? attributesAre({ n: count.n, last: count.last }) : isAbsent();
}
