import { Failure } from '../contract/failure.ts';
import { machineOf, type Source, siteOf } from '../contract/source.ts';
import { settleAll } from '../runtime/waiting.ts';
import type { Key } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { windowAt } from '../table/window-counter.ts';
import type { Write } from '../table/write.ts';
import { type SourceKind, sourceKey } from './attempt-items.ts';
import type { Pseudonym } from './pseudonyms.ts';

/*
 * What a source may do across all logins, against floods. An IPv6 address is two sources: its /64,
 * and its /48, which many providers give to one customer.
 */

const WINDOW_MS = 15 * 60 * 1000;
/** How many times as much a /48 of IPv6 may do as one of its /64: it can be an office. */
const MACHINES_OF_A_SITE = 10;
/** Most logins have the right password. */
const ATTEMPTS_PER_FAILURE = 10;

/** A count of a source in one window, and its limits. */
export interface SourceCount {
  readonly key: Key;
  readonly window: ReturnType<typeof windowAt>;
  readonly failuresMax: number;
  /** Of attempts or resets, successful ones included. */
  readonly requestsMax: number;
}

/** An attempt or a reset, or the failure of an attempt. */
export type SourceEvent = 'request' | 'failure';

/**
 * Where a request is counted against its source: in the window of its arrival, so that the time
 * that it spent in a queue does not count as waiting.
 */
export function sourceCounts(
  kind: SourceKind,
  { address, arrivedAt }: Source,
  pseudonym: Pseudonym,
  failuresPerSource: number,
): SourceCount[] {
  const window = windowAt(arrivedAt, WINDOW_MS);
  return [...new Set([machineOf(address), siteOf(address)])].map((source, n) => {
    const failuresMax = failuresPerSource * (n === 0 ? 1 : MACHINES_OF_A_SITE);
    return {
      key: sourceKey(pseudonym(source), kind, window.number),
      window,
      failuresMax,
      requestsMax: failuresMax * (kind === 'RESETS' ? 1 : ATTEMPTS_PER_FAILURE),
    };
  });
}

/**
 * When a source may send requests again, in milliseconds since 1970; 0 unless a stored count has
 * reached a limit.
 */
export function sourceBlockedUntil(
  counts: readonly SourceCount[],
  stored: readonly unknown[],
): number {
  const full = counts.find(({ failuresMax, requestsMax }, position) => {
    const { n = 0, requests = 0 } = (stored[position] ?? {}) as Partial<Record<string, number>>;
    return n >= failuresMax || requests >= requestsMax;
  });
  return full?.window.endMs ?? 0;
}

/**
 * Counts a request against its source before any work is done for it, or a failure before it is
 * revealed. Fails with too-many-attempts when the source has reached the limit of such events, and
 * with unavailable.
 */
export async function countAgainstSource(
  table: Table,
  counts: readonly SourceCount[],
  event: SourceEvent,
): Promise<void> {
  await settleAll(
    counts.map(async (count) => {
      // A separate update rather than part of a transaction: transactions on one item conflict, and
      // would make the users behind a shared address wait for each other.
      const counted = await table.update(counting(count, event));
      if (!counted) throw tooManyAttempts(count.window.endMs);
    }),
  );
}

function counting(
  { key, window, failuresMax, requestsMax }: SourceCount,
  event: SourceEvent,
): Write {
  const isRequest = event === 'request';
  return {
    act: 'Update',
    key,
    update: 'SET #expires = :expires ADD #n :failures, #requests :requests',
    condition: `attribute_not_exists(pk) OR ${isRequest ? '#requests' : '#n'} < :max`,
    names: { '#n': 'n', '#requests': 'requests', '#expires': 'expires' },
    values: {
      ':failures': isRequest ? 0 : 1,
      ':requests': isRequest ? 1 : 0,
      ':max': isRequest ? requestsMax : failuresMax,
      ':expires': window.expires,
    },
  };
}

export const tooManyAttempts = (retryAt: number): Failure =>
  new Failure('too-many-attempts', {
    retryAfter: Math.max(1, Math.ceil((retryAt - Date.now()) / 1000)),
  });
