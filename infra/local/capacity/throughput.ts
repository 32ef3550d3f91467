import type { OnDemandThroughput } from '@aws-sdk/client-dynamodb';

type Kind = 'Read' | 'Write';

/** The capacity that an action requires of the table and of one partition key. */
export interface Demand {
  readonly kind: Kind;
  readonly pk: string;
  readonly units: number;
}

/** In units per second. */
export type TableMaximum = () => OnDemandThroughput | undefined;

/** The capacity that the table and its partition keys have at the moment. */
export type Throughput = ReturnType<typeof openThroughput>;

const PARTITION_MAXIMUM = { Read: 3000, Write: 1000 } satisfies Record<Kind, number>;
/** DynamoDB retains unused capacity of a table for this long. */
const BURST_SECONDS = 300;

/** Opens the throughput of the table; `now` is a monotonic clock in milliseconds. */
export function openThroughput(tableMaximum: TableMaximum, now: () => number) {
  const buckets = new Map<string, ReturnType<typeof tokenBucket>>();

  function bucket(name: string, rate: number, seconds: number) {
    const opened = buckets.get(name) ?? tokenBucket(rate, rate * seconds, now);
    buckets.set(name, opened);
    return opened;
  }
  const bucketsOf = ({ kind, pk }: Demand) => {
    const maximum = tableMaximum()?.[`Max${kind}RequestUnits`];
    return [
      bucket(`${kind} ${pk}`, PARTITION_MAXIMUM[kind], 1),
      // The maximum is part of the name: a changed one starts a new bucket.
      ...(maximum === undefined ? [] : [bucket(`${kind} ${maximum}/s`, maximum, BURST_SECONDS)]),
    ];
  };
  /** Takes units even if they are not available: later demands wait for them. */
  const charge = (demand: Demand, units = demand.units) => {
    for (const { take } of bucketsOf(demand)) take(units);
  };

  return {
    charge,
    /** Takes all demands or none. Returns whether each, after those before it, exceeds a limit. */
    takeAll(demands: readonly Demand[]): boolean[] {
      const taken: Demand[] = [];
      const exceeded = demands.map((demand) => {
        if (bucketsOf(demand).some(({ available }) => available() < demand.units)) return true;
        charge(demand);
        taken.push(demand);
        return false;
      });
      if (exceeded.includes(true)) for (const demand of taken) charge(demand, -demand.units);
      return exceeded;
    },
  };
}

function tokenBucket(ratePerSecond: number, capacity: number, now: () => number) {
  // No unused capacity has accumulated.
  let units = ratePerSecond;
  let since = now();
  const available = () => {
    const time = now();
    units = Math.min(capacity, units + ((time - since) * ratePerSecond) / 1000);
    since = time;
    return units;
  };
  return {
    available,
    take(taken: number) {
      units = available() - taken;
    },
  };
}
