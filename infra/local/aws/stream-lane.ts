import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Mapping } from './event-source-mappings.ts';

/** The part of a stream record that a KEYS_ONLY stream has. */
export interface StreamRecord {
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
export interface Lane {
  readonly mapping: Mapping;
  readonly records: { readonly record: StreamRecord; readonly at: number; isTried: boolean }[];
}

export interface HandOver {
  readonly invoke: (functionName: string, event: unknown, requestId: string) => Promise<unknown>;
  readonly onLine: (line: string) => void;
  readonly isStopped: () => boolean;
  /** Called when records have been tried. */
  readonly onTried: () => void;
  /** Called in the tick in which the lane ends: later records are for another one. */
  readonly onEnd: () => void;
}

const RETRY_MS = { first: 50, max: 5000 };

/** Hands over the records of a lane, also those that are added meanwhile, until none is left. */
export async function emptyLane(lane: Lane, options: HandOver): Promise<void> {
  const { mapping, records } = lane;
  let batchSize = mapping.batchSize;
  for (let pauseMs = RETRY_MS.first; records.length > 0 && !options.isStopped(); ) {
    const batch = records.slice(0, batchSize);
    const done = await handOver(
      mapping,
      batch.map(({ record }) => record),
      options,
    );
    // A batch whose function failed is divided, so that what makes it fail ends up alone.
    batchSize = done === 0 && batch.length > 1 ? Math.ceil(batch.length / 2) : mapping.batchSize;
    for (const entry of batch) entry.isTried = true;
    records.splice(0, done);
    if (records[0] && Date.now() > records[0].at + mapping.recordAgeMaxMs) {
      options.onLine(
        `${mapping.functionName} has failed for too long: a record of the stream is discarded`,
      );
      records.shift();
    }
    options.onTried();
    if (done > 0) pauseMs = RETRY_MS.first;
    else {
      await wait(pauseMs, undefined, { ref: false });
      pauseMs = Math.min(2 * pauseMs, RETRY_MS.max);
    }
  }
  options.onEnd();
}

async function handOver(
  mapping: Mapping,
  Records: readonly StreamRecord[],
  { invoke, onLine, isStopped }: HandOver,
): Promise<number> {
  try {
    return doneIn(Records, await invoke(mapping.functionName, { Records }, randomUUID()));
  } catch (error) {
    if (!isStopped()) onLine(`${mapping.functionName} failed: ${(error as Error).message}`);
    return 0;
  }
}

/** How many records a response reports as done, counted from the first one. */
function doneIn(records: readonly StreamRecord[], response: unknown): number {
  const { batchItemFailures = [] } = response as {
    batchItemFailures?: { itemIdentifier: string }[];
  };
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb.SequenceNumber));
  return first < 0 ? records.length : first;
}
