import { type TokenBucket, tokenBucket } from './token-bucket.ts';

type Kind = 'Read' | 'Write';
export type Limit = 'KeyRangeThroughputExceeded' | 'MaxOnDemandThroughputExceeded';

/**
 * The capacity that an action requires of its table and, unless it is a Scan, of one partition key.
 */
export interface Demand {
  readonly kind: Kind;
  readonly table: string;
  readonly pk: string | undefined;
  readonly units: number;
}

/** The maximum throughput in units per second; undefined if the template sets none. */
export type TableMaximum = () => {
  readonly Read?: number | undefined;
  readonly Write?: number | undefined;
};

/** The capacity that the partition keys and the tables have at the moment. */
export interface Throughput {
  charge(demand: Demand, units?: number): void;
  /** Charges reads to a partition key, but not to its table. */
  chargePartition(table: string, pk: string, units: number): void;
  /**
   * Charges each demand that fits on its own. Returns the limits that each of the others exceeds.
   */
  takeEach(demands: readonly Demand[]): Limit[][];
  /** Charges all demands or none. Returns the limits that each exceeds. */
  takeAll(demands: readonly Demand[]): Limit[][];
}

/** The throughput of a partition, in units per second. */
const PARTITION_MAXIMUM = { Read: 3000, Write: 1000 } satisfies Record<Kind, number>;
/** DynamoDB retains unused capacity of a table for this long. */
const BURST_SECONDS = 300;
/** At this number of partition keys, full buckets are discarded to bound the memory. */
const PARTITION_BUCKETS_MAX = 1000;

/** Opens the throughput of all tables; `now` is a monotonic clock in milliseconds. */
export function openThroughput(tableMaximum: TableMaximum, now: () => number): Throughput {
  const partitions = new Map<string, TokenBucket>();
  const tables = new Map<string, TokenBucket>();

  function partitionBucket(table: string, kind: Kind, pk: string): TokenBucket {
    const name = JSON.stringify([table, kind, pk]);
    const rate = PARTITION_MAXIMUM[kind];
    const bucket = partitions.get(name) ?? tokenBucket(rate, rate, now);
    if (partitions.size >= PARTITION_BUCKETS_MAX && !partitions.has(name)) {
      for (const [other, { isFull }] of partitions) if (isFull()) partitions.delete(other);
    }
    partitions.set(name, bucket);
    return bucket;
  }

  function tableBucket(table: string, kind: Kind, rate: number): TokenBucket {
    // The rate is part of the key: a changed maximum starts a new bucket.
    const name = JSON.stringify([table, kind, rate]);
    const bucket = tables.get(name) ?? tokenBucket(rate, BURST_SECONDS * rate, now);
    tables.set(name, bucket);
    return bucket;
  }

  function bucketsOf({ kind, table, pk }: Demand): [Limit, TokenBucket][] {
    const maximum = tableMaximum()[kind];
    const buckets: [Limit, TokenBucket][] = [];
    if (pk !== undefined)
      buckets.push(['KeyRangeThroughputExceeded', partitionBucket(table, kind, pk)]);
    if (maximum !== undefined)
      buckets.push(['MaxOnDemandThroughputExceeded', tableBucket(table, kind, maximum)]);
    return buckets;
  }

  function charge(demand: Demand, units = demand.units): void {
    for (const [, bucket] of bucketsOf(demand)) bucket.take(units);
  }

  const takeEach = (demands: readonly Demand[]): Limit[][] =>
    demands.map((demand) => {
      const exceeded = bucketsOf(demand).filter(([, bucket]) => bucket.available() < demand.units);
      if (exceeded.length === 0) charge(demand);
      return exceeded.map(([limit]) => limit);
    });

  return {
    charge,
    chargePartition: (table, pk, units) => partitionBucket(table, 'Read', pk).take(units),
    takeEach,
    takeAll(demands) {
      const exceeded = takeEach(demands);
      if (exceeded.some(isExceeded)) {
        for (const [index, demand] of demands.entries())
          if (!exceeded[index]?.length) charge(demand, -demand.units);
      }
      return exceeded;
    },
  };
}

/** Whether a demand exceeds any of its limits. */
export const isExceeded = (limits: readonly Limit[] | undefined): boolean =>
  limits !== undefined && limits.length > 0;
