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
import type { User } from '../users/user.ts';
import type { LoginKeys } from './attempt-items.ts';

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
 * How many attempts with a right recovery code, each less than a day after the one before, a login
 * has in spite of the wait: nobody can guess such a code, so only its owner or a thief of the code
 * can use them up.
 */
const RECOVERIES_MAX = 5;
/** How long a network stays known after a login. */
const KNOWN_NETWORK_SECONDS = 30 * 24 * 60 * 60;

/** A stored count of the failures of a login. */
interface Failures {
  readonly n: number;
  /** When the last failure was counted, in milliseconds since 1970. */
  readonly last: number;
  /** When the network stops being known, or the failures stop counting; seconds since 1970. */
  readonly expires: number;
  /** Whether the audit trail already records a rejection because of these failures. */
  readonly rejected?: true;
  /** The network is known by a mailed key only, and until its free attempts are used up. */
  readonly byMail?: true;
  /** The hours and networks whose first failure the audit trail records, of this hour only. */
  readonly audited?: readonly string[];
}

/** The stored counts of a login; undefined where none is. Not every attempt reads `recovery`. */
export type LoginCounts = Readonly<Partial<Record<keyof LoginKeys, Failures | undefined>>>;

/** The count of a login that applies to an attempt. */
export interface LoginCount {
  readonly key: Key;
  readonly stored: Failures | undefined;
  /** The failures that still count, and when the count expires once it is increased. */
  readonly before: Failures;
  /** When the wait ends, in milliseconds since 1970; 0 if there is none. */
  readonly blockedUntil: number;
  readonly isKnownNetwork: boolean;
  /** The present hour and network, and those whose first failure was audited in this hour. */
  readonly mark: string;
  readonly audited: readonly string[];
}

/**
 * The count that applies to an attempt: of a known network, of all other networks, or of attempts
 * whose recovery code was found right. `now` is in milliseconds since 1970.
 */
export function countFor(
  keys: LoginKeys,
  counts: LoginCounts,
  now: number,
  hasRecoveryCode = false,
): LoginCount {
  const isKnownNetwork = isKnown(counts.network, now);
  const cleared = isKnownNetwork ? 'network' : 'elsewhere';
  const name = hasRecoveryCode ? 'recovery' : cleared;
  const stored = counts[name];
  const expires =
    name === 'network' && stored ? stored.expires : seconds(now) + FAILURE_MEMORY_SECONDS;
  const isCurrent = stored && now < stored.last + FAILURE_MEMORY_SECONDS * 1000;
  const before = { ...(isCurrent ? stored : { n: 0, last: 0 }), expires };
  const waitSeconds = hasRecoveryCode ? waitAfterRecoveries(before.n) : waitAfter(before.n);
  const hour = `${Math.floor(now / 3_600_000)} `;
  // A log-in with a recovery code clears the count of its network, whose marks must stay.
  const marks = new Set([counts[cleared], stored].flatMap((count) => count?.audited ?? []));
  return {
    key: keys[name],
    stored,
    before,
    blockedUntil: waitSeconds > 0 ? before.last + waitSeconds * 1000 : 0,
    isKnownNetwork,
    mark: hour + keys.network.sk.slice('NETWORK#'.length, 'NETWORK#'.length + 8),
    audited: [...marks].filter((mark) => mark.startsWith(hour)),
  };
}

/** The waiting period in seconds after this number of failures of a login. */
const waitAfter = (failures: number): number =>
  failures < FREE_FAILURES ? 0 : Math.min(2 ** (failures - FREE_FAILURES), WAIT_SECONDS_MAX);
const waitAfterRecoveries = (attempts: number): number =>
  attempts < RECOVERIES_MAX ? 0 : FAILURE_MEMORY_SECONDS;

const isKnown = (network: Failures | undefined, now: number): network is Failures =>
  network !== undefined &&
  now < network.expires * 1000 &&
  !(network.byMail && network.n >= FREE_FAILURES);

/** An attempt that was counted as a failure, and the count before it. */
export interface RecordedAttempt extends LoginCount {
  readonly counted: Failures;
  /** Whether its failure is the first one of the hour in its network, and to be audited. */
  readonly isFirst: boolean;
}

/** Counts an attempt as a failure, and as audited, before the password is verified. */
export function recordAttempt(count: LoginCount, now: number): Decision<RecordedAttempt> {
  const { key, stored, before, mark, audited } = count;
  const isFirst = !audited.includes(mark);
  const marks = isFirst ? [...audited, mark] : audited;
  const counted = { ...before, n: before.n + 1, last: now, audited: marks };
  return {
    writes: [withCondition(put(key, counted), unchangedSinceRead(stored))],
    result: { ...count, counted, isFirst },
  };
}

/** Takes back an attempt and the wait that it began, unless another one has been counted since. */
export const takeBackAttempt = ({ key, before, counted }: RecordedAttempt): Write =>
  withCondition(put(key, { ...before }), unchangedSinceRead(counted));

/** Marks that a rejection because of these failures is audited. */
export const markRejected = ({ key, before: { n, last, rejected } }: LoginCount): Write =>
  set(key, { rejected: true }, attributesAre({ n, last, rejected }));

const NO_ATTEMPT = { isKnownNetwork: false, audited: [] };

/**
 * Resets the login's failure count and marks the network as known, after a correct password or a
 * mailed key, which proves control of the mailbox: an attacker elsewhere cannot lock out its owner.
 * The writes are unconditional: a concurrent failed attempt on the same login is either cleared as
 * well or counted afterwards.
 */
export function clearFailures(
  keys: LoginKeys,
  now: number,
  { isKnownNetwork, audited }: Pick<LoginCount, 'isKnownNetwork' | 'audited'> = NO_ATTEMPT,
): Write[] {
  const none = { n: 0, last: now, audited };
  return [
    put(keys.network, { ...none, expires: seconds(now) + KNOWN_NETWORK_SECONDS }),
    ...(isKnownNetwork
      ? []
      : [put(keys.elsewhere, { ...none, expires: seconds(now) + FAILURE_MEMORY_SECONDS })]),
  ];
}

/**
 * Makes the network of a reset with a mailed key known to a user with a second factor, with free
 * attempts that are counted from zero and nothing beyond: the mailbox proves nothing about codes,
 * so this must happen once a day at most. A network that is known by a login stays so.
 */
export function ownerAdmitted(
  keys: LoginKeys,
  network: Failures | undefined,
  now: number,
): Write[] {
  const known =
    isKnown(network, now) && !network.byMail
      ? { expires: network.expires }
      : { expires: seconds(now) + FAILURE_MEMORY_SECONDS, byMail: true };
  return [
    withCondition(put(keys.network, { n: 0, last: now, ...known }), unchangedSinceRead(network)),
  ];
}

/** Whether a reset may admit a user with a second factor again. */
export const mayAdmit = ({ admittedAt = 0 }: Pick<User, 'admittedAt'>, now: number): boolean =>
  now >= admittedAt + FAILURE_MEMORY_SECONDS * 1000;

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
/** The condition that no other login attempt has been counted since the read. */
function unchangedSinceRead(count: Failures | undefined): Condition {
  return count ? attributesAre({ n: count.n, last: count.last }) : isAbsent();
}
