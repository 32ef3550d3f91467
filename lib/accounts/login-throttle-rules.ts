import { Failure } from '../contract/failure.ts';
import type { Decision } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import { type Condition, put, type Write, withCondition } from '../table/write.ts';

/*
 * Guessing passwords takes time. A login has one count of failures for each network that its account has logged in from
 * lately, and one for everywhere else together: who guesses elsewhere keeps nobody out at home. A source has two over all
 * logins, against floods: of its failures, and of all its requests that make the service work hard.
 */

/** So many failures of a login cost no time; after them the waits double up to the longest. Seconds. */
const FREE = 10;
const LONGEST_WAIT = 15 * 60;
/** How long failures of a login are remembered after the last one; seconds. */
const MEMORY = 24 * 60 * 60;
/** How long a network is known after a login; seconds. */
const KNOWN = 30 * 24 * 60 * 60;
/** In which time the failures of a source are counted; seconds. */
const WINDOW = 15 * 60;
/** How much longer the table keeps them: longer than any request takes, which may give back what it has taken; seconds. */
const MARGIN = 60;

/** The failures of a login. */
interface LoginFailures {
  readonly n: number;
  /** When the last one was counted; milliseconds since 1970. */
  readonly last: number;
  /** Until when the network is known, or the failures are remembered; seconds since 1970. */
  readonly expires: number;
}

/** The failures and requests of a source. */
export interface SourceFailures {
  /** Failures. */
  readonly n: number;
  /** Requests, successful ones included; absent in counts that an earlier release has begun. */
  readonly requests?: number;
  /** When their window began; milliseconds since 1970. */
  readonly since: number;
}

/** What a guess is judged by; undefined where nothing is stored. */
export interface Failures {
  readonly network: LoginFailures | undefined;
  readonly elsewhere: LoginFailures | undefined;
  readonly source: SourceFailures | undefined;
}

/** Where the counts are stored. */
export type FailureKeys = Readonly<Record<keyof Failures, Key>>;

/** Seconds to wait after so many failures of a login. */
export function waitAfter(failures: number): number {
  return failures < FREE ? 0 : Math.min(2 ** (failures - FREE), LONGEST_WAIT);
}

/** How much one source may do within a window. */
export interface SourceLimits {
  readonly failuresPerSource: number;
  readonly requestsPerSource: number;
}

/** When requests come: now, and the one in question. It may have waited in line since. Milliseconds since 1970. */
interface Times {
  readonly now: number;
  readonly arrivedAt: number;
}

/**
 * Counts a guess as a failure before it is made, and tells whether its network is known. Fails with too-many-attempts
 * while there is a wait: whoever came before its end has not waited, even if the request was in line for so long.
 */
export function recordAttempt(
  keys: FailureKeys,
  counts: Failures,
  { now, arrivedAt, ...limits }: Times & SourceLimits,
): Decision<boolean> {
  const { network, elsewhere, source } = counts;
  const isKnown = network !== undefined && now < network.expires * 1000;
  const own = isKnown ? network : elsewhere;
  const failures = own && now < own.last + MEMORY * 1000 ? own.n : 0;
  const wait = waitAfter(failures);
  const free = Math.max(own && wait > 0 ? own.last + wait * 1000 : 0, freeAt(source, limits));
  if (arrivedAt < free) throw tooManyAttempts(free, now);

  const counted = { n: failures + 1, last: now };
  return {
    writes: [
      isKnown
        ? withCondition(put(keys.network, { ...counted, expires: network.expires }), asRead(network))
        : withCondition(put(keys.elsewhere, { ...counted, expires: seconds(now) + MEMORY }), asRead(elsewhere)),
    ],
    result: isKnown,
  };
}

/**
 * Counts one more request of a source, and in advance its failure if it is a guess. An update of its own: the many people
 * at one source must not wait for each other, as transactions on one item would. Fails with too-many-attempts when the
 * source has had its share of the window.
 */
export function recordRequest(
  key: Key,
  source: SourceFailures | undefined,
  failures: 0 | 1,
  { now, arrivedAt, ...limits }: Times & SourceLimits,
): Write {
  const free = freeAt(source, limits);
  if (arrivedAt < free) throw tooManyAttempts(free, now);
  // Negated on purpose: a count without a time compares as neither, and begins a new window too.
  if (!source || !(now < source.since + WINDOW * 1000)) {
    const { since, expires } = newWindow(now);
    const values = { ':failures': failures, ':one': 1, ':since': since, ':expires': expires };
    const names = { '#n': 'n', '#requests': 'requests', '#since': 'since', '#expires': 'expires' };
    const begun =
      source?.since === undefined
        ? { condition: 'attribute_not_exists(#since)', values }
        : { condition: '#since = :before', values: { ...values, ':before': source.since } };
    const update = 'SET #n = :failures, #requests = :one, #since = :since, #expires = :expires';
    return { act: 'Update', key, update, names, ...begun };
  }
  return {
    act: 'Update',
    key,
    update: 'ADD #n :failures, #requests :one',
    condition:
      '#since = :since AND #n < :failureLimit AND (attribute_not_exists(#requests) OR #requests < :requestLimit)',
    names: { '#n': 'n', '#requests': 'requests', '#since': 'since' },
    values: {
      ':failures': failures,
      ':one': 1,
      ':since': source.since,
      ':failureLimit': limits.failuresPerSource,
      ':requestLimit': limits.requestsPerSource,
    },
  };
}

/** When a source that has had its share may go on; 0 when it may now. */
function freeAt(source: SourceFailures | undefined, { failuresPerSource, requestsPerSource }: SourceLimits): number {
  if (!source) return 0;
  const { n, requests = 0, since } = source;
  return n >= failuresPerSource || requests >= requestsPerSource ? since + WINDOW * 1000 : 0;
}

const tooManyAttempts = (free: number, now: number): Failure =>
  new Failure('too-many-attempts', { retryAfter: Math.max(1, Math.ceil((free - now) / 1000)) });

/**
 * The guess was right: its own count begins anew, and its network is known from now on. Without conditions: a wrong guess
 * at the same login and moment is forgiven with it, or counted after it.
 */
export function clearFailures(keys: FailureKeys, isKnown: boolean, now: number): Write[] {
  const none = { n: 0, last: now };
  return [
    put(keys.network, { ...none, expires: seconds(now) + KNOWN }),
    ...(isKnown ? [] : [put(keys.elsewhere, { ...none, expires: seconds(now) + MEMORY })]),
  ];
}

/**
 * Whoever reads the mailbox of the account has set a new password: the failures are forgotten, and the network is known
 * from now on. So nobody who guesses elsewhere can keep the owner of the mailbox out.
 */
export const mailboxProven = (keys: FailureKeys, now: number): Write[] => clearFailures(keys, false, now);

/**
 * Gives back the failure that was counted in advance for a right guess. Whoever has removed the count meanwhile gets a new
 * one, which expires too.
 */
export function takeBackFailure(key: Key, now: number): Write {
  const { since, expires } = newWindow(now);
  return {
    act: 'Update',
    key,
    update:
      'SET #n = if_not_exists(#n, :one) - :one, #since = if_not_exists(#since, :since), ' +
      '#expires = if_not_exists(#expires, :expires)',
    names: { '#n': 'n', '#since': 'since', '#expires': 'expires' },
    values: { ':one': 1, ':since': since, ':expires': expires },
  };
}

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
const newWindow = (now: number) => ({ since: now, expires: seconds(now) + WINDOW + MARGIN });

/** No other guess was counted meanwhile. */
function asRead(count: LoginFailures | undefined): Condition {
  if (!count) return { condition: 'attribute_not_exists(pk)', onConditionFailed: 'retry' };
  return {
    condition: '#n = :n AND #last = :last',
    names: { '#n': 'n', '#last': 'last' },
    values: { ':n': count.n, ':last': count.last },
    onConditionFailed: 'retry',
  };
}
