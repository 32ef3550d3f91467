import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { actionsOf } from '../calls/actions.ts';
import type { OperationCall } from '../calls/aws-call.ts';
import { isHandedOver, type Mapping } from './event-source-mappings.ts';

/*
 * The stream of the table, made from the writes that the engine has accepted: with the stream of
 * the embedded engine, each write takes longer the more records it has.
 */

type StreamRecord = ReturnType<typeof recordsOf>[number]['record'];

/** Records that wait for a function in their order, as records of one partition key do on AWS. */
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

/**
 * Hands the writes that the engine has accepted to the functions of the mappings, in order and at
 * least once. If a transaction is sent again with its token, its writes are handed over again, but
 * never in one batch with the first ones.
 */
export function openStream({ mappings, invoke, onLine }: Options) {
  const lanes = new Map<string, Lane>();
  const waiting = new Set<() => void>();
  let sequenceNumber = 0;
  let isStopped = false;

  function notifyIfSettled(): void {
    const isPending = ({ records }: Lane) => records.some(({ isTried }) => !isTried);
    if (!isStopped && [...lanes.values()].some(isPending)) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

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
  async function handOver({ functionName }: Mapping, Records: StreamRecord[]): Promise<number> {
    try {
      const response = await invoke(functionName, { Records }, randomUUID());
      const { batchItemFailures = [] } = response as {
        batchItemFailures?: { itemIdentifier: string }[];
      };
      const failed = batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
      const first = Records.findIndex(({ dynamodb }) => failed.includes(dynamodb.SequenceNumber));
      return first < 0 ? Records.length : first;
    } catch (error) {
      if (!isStopped) onLine(`${functionName} failed: ${(error as Error).message}`);
      return 0;
    }
  }

  function add(index: number, mapping: Mapping, record: StreamRecord): void {
    const { pk, sk } = record.dynamodb.Keys;
    const name = `${index} ${hashOf(pk.S) % mapping.lanes}`;
    const lane = lanes.get(name) ?? { mapping, records: [] };
    const isSame = ({ record: { dynamodb } }: Lane['records'][number]) =>
      dynamodb.Keys.pk.S === pk.S && dynamodb.Keys.sk.S === sk.S;
    if (lane.records.some(isSame)) return;
    lane.records.push({ record, isTried: false });
    if (lanes.has(name)) return;
    lanes.set(name, lane);
    void emptyLane(name, lane);
  }

  return {
    committed(call: OperationCall): void {
      for (const { table, record } of recordsOf(call, () => String(++sequenceNumber)))
        for (const [index, mapping] of mappings().entries())
          if (isHandedOver(mapping, table, record)) add(index, mapping, record);
    },
    /** Resolves once every record has been handed over at least once. */
    settled: (): Promise<void> =>
      new Promise((resolve) => {
        waiting.add(resolve);
        notifyIfSettled();
      }),
    stop() {
      isStopped = true;
      notifyIfSettled();
    },
  };
}

/**
 * The puts of a call as inserts, as in a KEYS_ONLY stream: besides inserts, the filters select only
 * replacements of the armed emergency account. An update outside of a transaction can insert;
 * whether it did is not known here, and no function depends on that.
 */
const recordsOf = (call: OperationCall, nextSequenceNumber: () => string) =>
  actionsOf(call)
    .filter(({ action }) => action === 'dynamodb:PutItem' || call.operation === 'UpdateItem')
    .map(({ table, pk, sk = '' }) => {
      const Keys = { pk: { S: pk }, sk: { S: sk } };
      const dynamodb = { SequenceNumber: nextSequenceNumber(), Keys };
      return { table, record: { eventName: 'INSERT', dynamodb } };
    });

const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE();
