import { createHash } from 'node:crypto';
import { actionsOf } from '../calls/actions.ts';
import type { AwsCall } from '../calls/aws-call.ts';
import { isHandedOver, type Mapping } from './event-source-mappings.ts';
import { emptyLane, type HandOver, type Lane, type StreamRecord } from './stream-lane.ts';

/*
 * The stream of the table and its event source mappings. The stream of the embedded engine is not
 * used: each write takes longer the more records it has. Records are instead made from the writes
 * that the engine has accepted.
 */

interface Options extends Pick<HandOver, 'invoke' | 'onLine'> {
  readonly mappings: () => readonly Mapping[];
}

export interface Stream {
  committed(call: Pick<AwsCall, 'operation' | 'input'>): void;
  /** Resolves once every record has been handed over at least once. */
  settled(): Promise<void>;
  stop(): void;
}

/** An update is taken for that of an item that exists, and a put for that of a new one. */
const EVENTS: Readonly<Record<string, StreamRecord['eventName']>> = {
  'dynamodb:PutItem': 'INSERT',
  'dynamodb:UpdateItem': 'MODIFY',
  'dynamodb:DeleteItem': 'REMOVE',
};

export function openStream({ mappings, invoke, onLine }: Options): Stream {
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

  function add(index: number, mapping: Mapping, record: StreamRecord): void {
    const name = `${index} ${hashOf(record.dynamodb.Keys.pk.S) % mapping.lanes}`;
    const lane = lanes.get(name) ?? { mapping, records: [] };
    lane.records.push({ record, at: Date.now(), isTried: false });
    if (lanes.has(name)) return;
    lanes.set(name, lane);
    void emptyLane(lane, {
      invoke,
      onLine,
      isStopped: () => isStopped,
      onTried: notifyIfSettled,
      onEnd() {
        lanes.delete(name);
        notifyIfSettled();
      },
    });
  }

  return {
    committed(call) {
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
    settled: () =>
      isSettled() ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve)),
    stop() {
      isStopped = true;
      notifyIfSettled();
    },
  };
}

const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE();
