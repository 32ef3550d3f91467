import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { actionsOf } from '../calls/actions.ts';
import type { AwsCall } from '../calls/aws-call.ts';
import { isHandedOver, type Mapping } from './event-source-mappings.ts';

/*
 * The stream of the table and its event source mappings. The stream of the embedded engine is not
 * used: each write takes longer the more records it has. Records are instead made from the writes
 * that the engine has accepted.
 */

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
  readonly records: { readonly record: StreamRecord; isTried: boolean }[];
}

interface Options {
  readonly mappings: () => readonly Mapping[];
  readonly invoke: (functionName: string, event: unknown, requestId: string) => Promise<unknown>;
  readonly onLine: (line: string) => void;
}

const RETRY_MS = { first: 50, max: 5000 };

export type Stream = ReturnType<typeof openStream>;

/** An update is taken for that of an item that exists, and a put for that of a new one. */
const EVENTS: Readonly<Record<string, StreamRecord['eventName']>> = {
  'dynamodb:PutItem': 'INSERT',
  'dynamodb:UpdateItem': 'MODIFY',
  'dynamodb:DeleteItem': 'REMOVE',
};

export function openStream({ mappings, invoke, onLine }: Options) {
  const lanes = new Map<string, Lane>();
  const waiting = new Set<() => void>();
  const tokens = new Set<unknown>();
  let sequenceNumber = 0;
  let isStopped = false;

  const isSettled = () =>
    [...lanes.values()].every(({ records }) => records.every(({ isTried }) => isTried));
  function notifyIfSettled(): void {
    if (!isSettled() && !isStopped) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  /** Hands over the records of a lane, also those that are added meanwhile, until none is left. */
  async function emptyLane(name: string, { mapping, records }: Lane): Promise<void> {
    for (let pauseMs = RETRY_MS.first; records.length > 0 && !isStopped; ) {
      const batch = records.slice(0, mapping.batchSize);
      const done = await handOver(
        mapping,
        batch.map(({ record }) => record),
      );
      for (const entry of batch) entry.isTried = true;
      records.splice(0, done);
      notifyIfSettled();
      if (done > 0) pauseMs = RETRY_MS.first;
      else {
        await wait(pauseMs, undefined, { ref: false });
        pauseMs = Math.min(2 * pauseMs, RETRY_MS.max);
      }
    }
    // In this tick: later records are for another lane.
    lanes.delete(name);
    notifyIfSettled();
  }

  /** Returns how many records are done, counted from the first one. */
  async function handOver(mapping: Mapping, Records: readonly StreamRecord[]): Promise<number> {
    try {
      return doneIn(Records, await invoke(mapping.functionName, { Records }, randomUUID()));
    } catch (error) {
      if (!isStopped) onLine(`${mapping.functionName} failed: ${(error as Error).message}`);
      return 0;
    }
  }

  function add(index: number, mapping: Mapping, record: StreamRecord): void {
    const name = `${index} ${hashOf(record.dynamodb.Keys.pk.S) % mapping.lanes}`;
    const lane = lanes.get(name) ?? { mapping, records: [] };
    lane.records.push({ record, isTried: false });
    if (lanes.has(name)) return;
    lanes.set(name, lane);
    void emptyLane(name, lane);
  }

  return {
    committed(call: Pick<AwsCall, 'operation' | 'input'>): void {
      // A transaction that is sent again with its token changes nothing, and has no second record.
      const token = call.input.ClientRequestToken;
      if (token !== undefined && tokens.has(token)) return;
      tokens.add(token);
      for (const { action, table, pk, sk = '' } of actionsOf(call)) {
        const eventName = EVENTS[action];
        if (!eventName) continue;
        sequenceNumber++;
        const Keys = { pk: { S: pk }, sk: { S: sk } };
        const record = { eventName, dynamodb: { SequenceNumber: String(sequenceNumber), Keys } };
        for (const [index, mapping] of mappings().entries())
          if (isHandedOver(mapping, table, record)) add(index, mapping, record);
      }
    },
    /** Resolves once every record has been handed over at least once. */
    settled: (): Promise<void> =>
      isSettled() ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve)),
    stop() {
      isStopped = true;
      notifyIfSettled();
    },
  };
}

const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE();

/** How many records a response reports as done, counted from the first one. */
function doneIn(records: readonly StreamRecord[], response: unknown): number {
  const { batchItemFailures = [] } = response as {
    batchItemFailures?: { itemIdentifier: string }[];
  };
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb.SequenceNumber));
  return first < 0 ? records.length : first;
}
