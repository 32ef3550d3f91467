import { Failure } from '../contract/failure.ts';
import type { Key } from '../table/keys.ts';
import type { Write } from '../table/write.ts';

/*
 * Each source has two counts across all logins, against floods: failures, and all attempts. Resets
 * have a count of their own, so that they and logins cannot use up each other's requests. An IPv6
 * address is two sources: its /64, and its /48, which many providers give to one customer.
 */

/** The length of a source's counting window. */
const WINDOW_SECONDS = 15 * 60;
/** How long a source's count outlives its window, to tolerate clock skew. */
const MARGIN_SECONDS = 60;
/** A number of requests that no source reaches. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** How many times as much a /48 of IPv6 may do as one of its /64: it can be an office. */
const MACHINES_OF_A_SITE = 10;

/**
 * The stored counts of a source: of its login attempts, or of its resets, which have no failures.
 */
export interface SourceFailures {
  /** Failures. */
  readonly n: number;
  /** Attempts or resets, successful ones included. */
  readonly requests: number;
  /** When the window began, in milliseconds since 1970. */
  readonly since: number;
}

/** The limits of one source per window. */
export interface SourceLimits {
  readonly failuresPerSource: number;
  readonly requestsPerSource: number;
}

/** The limits of the /48 of an IPv6 address. */
export const ofSite = ({ failuresPerSource, requestsPerSource }: SourceLimits): SourceLimits => ({
  failuresPerSource: MACHINES_OF_A_SITE * failuresPerSource,
  requestsPerSource: MACHINES_OF_A_SITE * requestsPerSource,
});

/**
 * The current time and the request's arrival, which differ if it was queued. Milliseconds since
 * 1970.
 */
export interface Times {
  readonly now: number;
  readonly arrivedAt: number;
}

/**
 * What is added to the counts of a source: an attempt or a reset, or the failure of an attempt that
 * was counted.
 */
export type SourceEvent = 'request' | 'failure';

/**
 * Counts a login attempt or a reset against its source before any work is done for it, or a failure
 * before it is revealed. A separate update rather than part of a transaction: transactions on one
 * item conflict, and would make the users behind a shared address wait for each other. Fails with
 * too-many-attempts when the source has reached a limit of its window; for a failure, only the
 * limit of failures counts.
 */
export function countAgainstSource(
  key: Key,
  event: SourceEvent,
  source: SourceFailures | undefined,
  { now, arrivedAt }: Times,
  { failuresPerSource, requestsPerSource }: SourceLimits,
): Write {
  const [requests, failures] = event === 'request' ? [1, 0] : [0, 1];
  const limits = {
    failuresPerSource,
    requestsPerSource: event === 'request' ? requestsPerSource : UNLIMITED,
  };
  const retryAt = blockedUntil(source, limits);
  if (arrivedAt < retryAt) throw tooManyAttempts(retryAt, now);
  if (!source || now >= source.since + WINDOW_SECONDS * 1000) {
    const { since, expires } = newWindow(now);
    const values = {
      ':failures': failures,
      ':requests': requests,
      ':since': since,
      ':expires': expires,
    };
    const names = { '#n': 'n', '#requests': 'requests', '#since': 'since', '#expires': 'expires' };
    const precondition =
      source === undefined
        ? { condition: 'attribute_not_exists(#since)', values }
        : { condition: '#since = :before', values: { ...values, ':before': source.since } };
    const update =
      'SET #n = :failures, #requests = :requests, #since = :since, #expires = :expires';
    return { act: 'Update', key, update, names, ...precondition };
  }
  return {
    act: 'Update',
    key,
    update: 'ADD #n :failures, #requests :requests',
    condition: '#since = :since AND #n < :failureLimit AND #requests < :requestLimit',
    names: { '#n': 'n', '#requests': 'requests', '#since': 'since' },
    values: {
      ':failures': failures,
      ':requests': requests,
      ':since': source.since,
      ':failureLimit': limits.failuresPerSource,
      ':requestLimit': limits.requestsPerSource,
    },
  };
}

/**
 * When a source that has reached a limit may send requests again, in milliseconds since 1970; 0 if
 * it may now.
 */
export function blockedUntil(
  source: SourceFailures | undefined,
  { failuresPerSource, requestsPerSource }: SourceLimits,
): number {
  if (!source) return 0;
  const { n, requests, since } = source;
  return n >= failuresPerSource || requests >= requestsPerSource
    ? since + WINDOW_SECONDS * 1000
    : 0;
}

export const tooManyAttempts = (retryAt: number, now: number): Failure =>
  new Failure('too-many-attempts', { retryAfter: Math.max(1, Math.ceil((retryAt - now) / 1000)) });

const newWindow = (now: number) => ({
  since: now,
  expires: Math.floor(now / 1000) + WINDOW_SECONDS + MARGIN_SECONDS,
});
