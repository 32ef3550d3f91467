import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  type GetCommandInput,
  TransactGetCommand,
} from '@aws-sdk/lib-dynamodb';
import { Failure } from '../contract/failure.ts';
import { THROTTLED_WAIT_MS } from '../runtime/aws.ts';
import {
  abortBeforeDeadline,
  requireEnv,
  throttledTriesMax,
} from '../runtime/execution-environment.ts';
import { isThrottled } from '../runtime/outage.ts';
import { sleepJittered } from '../runtime/waiting.ts';
import { withGuard } from './format.ts';
import type { Key } from './keys.ts';
import { documentClient, openTableWith, sharedClient, sharedGuard, unitsOf } from './open-table.ts';
import type { Item, OnConsumed, Table } from './table.ts';

/*
 * Reads of several items as of one moment. Separate from open-table.ts, so that only the functions
 * that need them bundle them.
 */

/** A table from which several items can be read as of one moment. */
export interface SnapshotTable extends Table {
  /**
   * Up to 100 items as of one moment, in the order of their keys; undefined for those that do not
   * exist. Costs twice the read units of `getAll`, and reports them to `onConsumed`. Fails with
   * unavailable if the items keep changing or are throttled twice in a request.
   */
  snapshot(keys: readonly Key[], onConsumed: OnConsumed): Promise<(Item | undefined)[]>;
}

/** Opens the table of the stack for a function. */
export function openSnapshotTable(): SnapshotTable {
  const name = requireEnv('TABLE_NAME');
  const table = openTableWith(name, sharedClient());
  const snapshot = snapshotsOf(name, sharedClient());
  return {
    ...withGuard(table, sharedGuard),
    snapshot: (keys, onConsumed) => sharedGuard.confirm(table, snapshot(keys, onConsumed)),
  };
}

/** The reads of several items as of one moment, whatever the format of the table. */
export function snapshotsOf(name: string, client: DynamoDBClient): SnapshotTable['snapshot'] {
  const documents = documentClient(client);
  return async (keys, onConsumed) => {
    const reads = keys.map((Key) => ({ TableName: name, Key }));
    try {
      return await transactGet(documents, reads, onConsumed);
    } catch (error) {
      throw isCancelled(error) ? new Failure('unavailable', { cause: error }) : error;
    }
  };
}

/**
 * How many times a read that conflicts with a transaction is tried, and the bound of the wait
 * between tries.
 */
const TRIES_MAX = 10;
const WAIT_MS_MAX = 200;

/** Reads items as of one moment; undefined for those that do not exist. Throws SDK errors. */
export async function transactGet(
  documents: DynamoDBDocumentClient,
  reads: readonly GetCommandInput[],
  onConsumed?: OnConsumed,
): Promise<(Item | undefined)[]> {
  const TransactItems = reads.map((Get) => ({ Get }));
  let timesThrottled = 0;
  for (let tries = 1; ; tries++) {
    try {
      const { Responses, ConsumedCapacity } = await documents.send(
        new TransactGetCommand({
          TransactItems,
          ...(onConsumed && { ReturnConsumedCapacity: 'TOTAL' }),
        }),
        abortBeforeDeadline(),
      );
      onConsumed?.(unitsOf(ConsumedCapacity));
      return reads.map((_, index) => Responses?.[index]?.Item as Item | undefined);
    } catch (error) {
      if (tries === TRIES_MAX || !isCancelled(error)) throw error;
      if (!isThrottled(error)) await sleepJittered(WAIT_MS_MAX);
      else if (++timesThrottled === throttledTriesMax()) throw error;
      else await sleepJittered(THROTTLED_WAIT_MS);
    }
  }
}

const isCancelled = (error: unknown): boolean =>
  error instanceof Error && error.name === 'TransactionCanceledException';
