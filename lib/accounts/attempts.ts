import { Failure } from '../failure.ts';
import type { Decision } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import { add, also, type Condition, put, type Write } from '../table/write.ts';

/*
 * Guessing passwords takes time. A login has one count of failures for each network that its account has logged in from
 * lately, and one for everywhere else together: who guesses elsewhere keeps nobody out at home. A source has one over all
 * logins, against floods.
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
export interface Failures {
  readonly n: number;
  /** When the last one was counted; milliseconds since 1970. */
  readonly last: number;
  /** Until when the network is known, or the failures are remembered; seconds since 1970. */
  readonly expires: number;
}

/** The failures of a source. */
export interface Flood {
  readonly n: number;
  /** When their window began; milliseconds since 1970. */
  readonly since: number;
}

/** What a guess is judged by; undefined where nothing is stored. */
export interface Counts {
  readonly network: Failures | undefined;
  readonly elsewhere: Failures | undefined;
  readonly source: Flood | undefined;
}

/** Where the counts are stored. */
export type CountKeys = Readonly<Record<keyof Counts, Key>>;

/** Seconds to wait after so many failures of a login. */
export function waitAfter(failures: number): number {
  return failures < FREE ? 0 : Math.min(2 ** (failures - FREE), LONGEST_WAIT);
}

/**
 * Counts a guess as a failure before it is made, and tells whether its network is known. Fails with too-many-attempts
 * while there is a wait: whoever came before its end has not waited, even if the request was in line for so long.
 */
export function reservation(
  keys: CountKeys,
  counts: Counts,
  { now, arrivedAt, failuresPerSource }: { now: number; arrivedAt: number; failuresPerSource: number },
): Decision<boolean> {
  const { network, elsewhere, source } = counts;
  const isKnown = network !== undefined && now < network.expires * 1000;
  const own = isKnown ? network : elsewhere;
  const failures = own && now < own.last + MEMORY * 1000 ? own.n : 0;
  const wait = waitAfter(failures);
  const flood = source && now < source.since + WINDOW * 1000 ? source : undefined;

  const free = Math.max(
    own && wait > 0 ? own.last + wait * 1000 : 0,
    flood && flood.n >= failuresPerSource ? flood.since + WINDOW * 1000 : 0,
  );
  if (arrivedAt < free) {
    throw new Failure('too-many-attempts', { retryAfter: Math.max(1, Math.ceil((free - now) / 1000)) });
  }

  const counted = { n: failures + 1, last: now };
  return {
    writes: [
      isKnown
        ? also(put(keys.network, { ...counted, expires: network.expires }), asRead(network, 'last'))
        : also(put(keys.elsewhere, { ...counted, expires: seconds(now) + MEMORY }), asRead(elsewhere, 'last')),
      flood
        ? also(add(keys.source, 1), hasRoom(flood, failuresPerSource))
        : also(put(keys.source, newWindow(now)), asRead(source, 'since')),
    ],
    result: isKnown,
  };
}

/**
 * The guess was right: its own count begins anew, and its network is known from now on. Without conditions: a wrong guess
 * at the same login and moment is forgiven with it, or counted after it.
 */
export function forgiveness(keys: CountKeys, isKnown: boolean, now: number): Write[] {
  const none = { n: 0, last: now };
  return [
    put(keys.network, { ...none, expires: seconds(now) + KNOWN }),
    ...(isKnown ? [] : [put(keys.elsewhere, { ...none, expires: seconds(now) + MEMORY })]),
    add(keys.source, -1),
  ];
}

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
const newWindow = (now: number) => ({ n: 1, since: now, expires: seconds(now) + WINDOW + MARGIN });

/** No other guess was counted meanwhile. */
function asRead<C extends { readonly n: number }>(count: C | undefined, time: keyof C & string): Condition {
  if (!count) return { condition: 'attribute_not_exists(pk)', otherwise: 'reload' };
  // What was given back to a count that an operator had removed meanwhile has no time.
  const timeless = count[time] === undefined;
  return {
    condition: `#n = :n AND ${timeless ? 'attribute_not_exists(#time)' : '#time = :time'}`,
    names: { '#n': 'n', '#time': time },
    values: { ':n': count.n, ...(!timeless && { ':time': count[time] }) },
    otherwise: 'reload',
  };
}

/** The many people at one source need not wait for each other while there is room. */
function hasRoom({ since }: Flood, failuresPerSource: number): Condition {
  return {
    condition: '#since = :since AND #n < :limit',
    names: { '#since': 'since', '#n': 'n' },
    values: { ':since': since, ':limit': failuresPerSource },
    otherwise: 'reload',
  };
}
