import { Failure } from '../contract/failure.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { Key } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { windowAt } from '../table/window-counter.ts';
import type { Write } from '../table/write.ts';

/*
 * Each source has two counts across all logins, against floods: failures, and all attempts. Resets
 * have a count of their own, so that they and logins cannot use up each other's requests. An IPv6
 * address is two sources: its /64, and its /48, which many providers give to one customer.
 */

const WINDOW_MS = 15 * 60 * 1000;
/** A number of requests that no source reaches. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** How many times as much a /48 of IPv6 may do as one of its /64: it can be an office. */
const MACHINES_OF_A_SITE = 10;

/** The keys of the counts of a source; `site`, its /48, only for an IPv6 address. */
export interface SourceKeys {
  readonly source: Key;
  readonly site?: Key;
}

/** The stored counts of a source in one window; undefined where none is stored. */
export interface SourceCounts {
  readonly source?: SourceCount | undefined;
  readonly site?: SourceCount | undefined;
}

interface SourceCount {
  /** Failures. Resets have none. */
  readonly n: number;
  /** Attempts or resets, successful ones included. */
  readonly requests: number;
}

/** The limits of one source per window. */
export interface SourceLimits {
  readonly failuresPerSource: number;
  readonly requestsPerSource: number;
}

/** An attempt or a reset, or the failure of an attempt that was counted. */
export type SourceEvent = 'request' | 'failure';

/**
 * The window in which a request is counted: by its arrival, so that the time that it spent in a
 * queue does not count as waiting.
 */
export const windowOf = (arrivedAt: number) => windowAt(arrivedAt, WINDOW_MS);

const ofSite = ({ failuresPerSource, requestsPerSource }: SourceLimits): SourceLimits => ({
  failuresPerSource: MACHINES_OF_A_SITE * failuresPerSource,
  requestsPerSource: MACHINES_OF_A_SITE * requestsPerSource,
});

/**
 * When a source may send requests again, in milliseconds since 1970; 0 unless a limit of its window
 * is reached.
 */
export function sourceBlockedUntil(
  { source, site }: SourceCounts,
  arrivedAt: number,
  limits: SourceLimits,
): number {
  const isFull = (count: SourceCount | undefined, of: SourceLimits) =>
    count && (count.n >= of.failuresPerSource || count.requests >= of.requestsPerSource);
  return isFull(source, limits) || isFull(site, ofSite(limits)) ? windowOf(arrivedAt).endMs : 0;
}

/**
 * Counts a login attempt or a reset against its source before any work is done for it, or a failure
 * before it is revealed. Fails with too-many-attempts when the source has reached a limit of its
 * window, for a failure only the limit of failures, and with unavailable.
 */
export async function countAgainstSource(
  table: Table,
  { source, site }: SourceKeys,
  event: SourceEvent,
  arrivedAt: number,
  limits: SourceLimits,
): Promise<void> {
  const count = async (key: Key, of: SourceLimits) => {
    // A separate update rather than part of a transaction: transactions on one item conflict, and
    // would make the users behind a shared address wait for each other.
    const counted = await table.update(countOf(key, event, arrivedAt, of));
    if (!counted) throw tooManyAttempts(windowOf(arrivedAt).endMs, Date.now());
  };
  await settleAll([count(source, limits), ...(site ? [count(site, ofSite(limits))] : [])]);
}

const countOf = (
  key: Key,
  event: SourceEvent,
  arrivedAt: number,
  { failuresPerSource, requestsPerSource }: SourceLimits,
): Write => ({
  act: 'Update',
  key,
  update: 'SET #expires = :expires ADD #n :failures, #requests :requests',
  condition: 'attribute_not_exists(pk) OR #n < :failuresMax AND #requests < :requestsMax',
  names: { '#n': 'n', '#requests': 'requests', '#expires': 'expires' },
  values: {
    ':failures': event === 'failure' ? 1 : 0,
    ':requests': event === 'request' ? 1 : 0,
    ':failuresMax': failuresPerSource,
    ':requestsMax': event === 'request' ? requestsPerSource : UNLIMITED,
    ':expires': windowOf(arrivedAt).expires,
  },
});

export const tooManyAttempts = (retryAt: number, now: number): Failure =>
  new Failure('too-many-attempts', { retryAfter: Math.max(1, Math.ceil((retryAt - now) / 1000)) });
