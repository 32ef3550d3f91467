import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { actionsOf } from '../calls/actions.ts';
import type { AwsCall } from '../calls/aws-call.ts';
import type { Template } from '../stack/template.ts';

/*
 * The stream of the table and its event source mappings. The stream of the embedded engine is not
 * used: each write takes longer the more records it has. Records are instead made from the writes
 * that the engine has accepted.
 */

/** An event source mapping of the template. */
export interface Mapping {
  readonly functionName: string;
  /** The name of the table whose stream it reads. */
  readonly table: string | undefined;
  readonly batchSize: number;
  /** How many batches of different partition keys are in work at once. */
  readonly lanes: number;
  readonly recordAgeMaxMs: number;
  /** The parsed patterns of its filters, of which a record must match one. */
  readonly patterns: readonly unknown[];
}

/** The event source mappings of a template. */
export function mappingsOf(
  template: Template,
  evaluate: (value: unknown) => string,
  functionOf: (FunctionName: string) => string | undefined,
): Mapping[] {
  return template.ofType('AWS::Lambda::EventSourceMapping').map(([, properties]) => {
    const { FunctionName, EventSourceArn, BatchSize, MaximumRecordAgeInSeconds, FilterCriteria } =
      properties;
    const { ParallelizationFactor = 1 } = properties;
    const { Filters } = FilterCriteria as { Filters: { Pattern: string }[] };
    return {
      functionName: functionOf(evaluate(FunctionName)) ?? '',
      table: /:table\/([^/]+)\/stream\//.exec(evaluate(EventSourceArn))?.[1],
      batchSize: Number(BatchSize),
      lanes: Number(ParallelizationFactor),
      recordAgeMaxMs: Number(MaximumRecordAgeInSeconds) * 1000,
      patterns: Filters.map(({ Pattern }) => JSON.parse(Pattern)),
    };
  });
}

/** The part of a stream record that a KEYS_ONLY stream has. */
interface StreamRecord {
  readonly eventName: 'INSERT' | 'MODIFY' | 'REMOVE';
  readonly dynamodb: {
    readonly SequenceNumber: string;
    readonly Keys: { readonly pk: { readonly S: string }; readonly sk: { readonly S: string } };
  };
}

/**
 * The records that wait for a function in their order. Those of one partition key are in one lane,
 * as on AWS.
 */
interface Lane {
  readonly mapping: Mapping;
  readonly records: { readonly record: StreamRecord; readonly at: number; isTried: boolean }[];
}

interface Options {
  readonly mappings: () => readonly Mapping[];
  readonly invoke: (functionName: string, event: unknown, requestId: string) => Promise<unknown>;
  readonly onLine: (line: string) => void;
}

export interface Stream {
  /** Receives each write that the engine has accepted. */
  committed(call: Pick<AwsCall, 'operation' | 'input'>): void;
  /** Resolves once every record has been handed over at least once. */
  settled(): Promise<void>;
  stop(): void;
}

const RETRY_MS = { first: 50, max: 5000 };

/** An update is taken for that of an item that exists, and a put for that of a new one. */
const EVENTS: Readonly<Record<string, StreamRecord['eventName']>> = {
  'dynamodb:PutItem': 'INSERT',
  'dynamodb:UpdateItem': 'MODIFY',
  'dynamodb:DeleteItem': 'REMOVE',
};

export function openStream({ mappings, invoke, onLine }: Options): Stream {
  const lanes = new Map<string, Lane>();
  const waiting = new Set<() => void>();
  let sequenceNumber = 0;
  let isStopped = false;

  async function run(name: string, lane: Lane): Promise<void> {
    const { mapping, records } = lane;
    let batchSize = mapping.batchSize;
    for (let pauseMs = RETRY_MS.first; records.length > 0 && !isStopped; ) {
      const batch = records.slice(0, batchSize);
      const done = await handOver(
        mapping,
        batch.map(({ record }) => record),
      );
      // A batch whose function failed is divided, so that what makes it fail ends up alone.
      batchSize = done === 0 && batch.length > 1 ? Math.ceil(batch.length / 2) : mapping.batchSize;
      for (const entry of batch) entry.isTried = true;
      records.splice(0, done);
      if (records[0] && Date.now() > records[0].at + mapping.recordAgeMaxMs) {
        onLine(
          `${mapping.functionName} has failed for too long: a record of the stream is discarded`,
        );
        records.shift();
      }
      notifyIfSettled();
      if (done > 0) pauseMs = RETRY_MS.first;
      else {
        await wait(pauseMs, undefined, { ref: false });
        pauseMs = Math.min(2 * pauseMs, RETRY_MS.max);
      }
    }
    lanes.delete(name);
    notifyIfSettled();
  }

  /** Returns how many records are done, counted from the first one. */
  async function handOver(mapping: Mapping, Records: readonly StreamRecord[]): Promise<number> {
    try {
      const response = await invoke(mapping.functionName, { Records }, randomUUID());
      const { batchItemFailures = [] } = response as {
        batchItemFailures?: { itemIdentifier: string }[];
      };
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      const first = Records.findIndex(({ dynamodb }) => failed.has(dynamodb.SequenceNumber));
      return first < 0 ? Records.length : first;
    } catch (error) {
      if (!isStopped) onLine(`${mapping.functionName} failed: ${(error as Error).message}`);
      return 0;
    }
  }

  const isSettled = () =>
    [...lanes.values()].every(({ records }) => records.every(({ isTried }) => isTried));
  function notifyIfSettled(): void {
    if (!isSettled() && !isStopped) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  return {
    committed(call) {
      for (const { action, table, pk, sk = '' } of actionsOf(call)) {
        const eventName = EVENTS[action];
        if (!eventName) continue;
        sequenceNumber++;
        const Keys = { pk: { S: pk }, sk: { S: sk } };
        const record = { eventName, dynamodb: { SequenceNumber: String(sequenceNumber), Keys } };
        for (const [index, mapping] of mappings().entries()) {
          if (mapping.table !== table || !mapping.patterns.some((each) => matches(each, record)))
            continue;
          const name = `${index} ${hashOf(pk) % mapping.lanes}`;
          const lane = lanes.get(name) ?? { mapping, records: [] };
          lane.records.push({ record, at: Date.now(), isTried: false });
          if (lanes.has(name)) continue;
          lanes.set(name, lane);
          void run(name, lane);
        }
      }
    },
    settled: () =>
      isSettled() ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve)),
    stop() {
      isStopped = true;
      notifyIfSettled();
    },
  };
}

const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE();

/**
 * Whether a value matches an event pattern: an object of patterns, or a list of texts and prefixes.
 */
function matches(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) {
    return pattern.some((rule) =>
      typeof rule === 'object'
        ? String(value).startsWith((rule as { prefix: string }).prefix)
        : rule === value,
    );
  }
  const members = Object.entries(pattern as object);
  return members.every(([name, inner]) =>
    matches(inner, (value as Record<string, unknown> | undefined)?.[name]),
  );
}
