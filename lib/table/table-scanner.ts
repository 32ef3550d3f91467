import { randomInt } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  ScanCommand,
  TransactGetCommand,
} from '@aws-sdk/lib-dynamodb';
import { requireEnv } from '../runtime/env.ts';
import type { Key } from './keys.ts';
import type { Item } from './table.ts';

/*
 * What only the verification of a whole table needs. It is apart from table.ts, so that no function of an endpoint
 * carries it along, and it cannot write.
 */

/** The one table as a whole. Every read is strongly consistent, and of the chosen attributes only. */
export interface TableScanner {
  /** All items, page by page, in no particular order. Items that are written meanwhile may be missing or as they were. */
  scan(): AsyncGenerator<Item[]>;
  /** Up to 100 items as they were at one moment, in the order of their keys; undefined where there is none. */
  snapshot(keys: readonly Key[]): Promise<(Item | undefined)[]>;
  /** The items of a collection, or of a range of it, in order: their keys, and how many bytes parameters count for. */
  range(pk: string, range?: { readonly from: string; readonly to: string }): Promise<Item[]>;
}

/** How often a snapshot that meets a transaction is tried, and the longest wait before the next try; milliseconds. */
const TRIES = 10;
const LONGEST_WAIT = 200;

/** Nobody waits for an answer here: a throttled or slow page is waited for. */
const PATIENT = {
  maxAttempts: 6,
  requestHandler: { connectionTimeout: 3000, requestTimeout: 20_000, throwOnRequestTimeout: true },
};

/** A client for verifying a table, in the environment's region and with its credentials, unless others are given. */
export function patientClient(
  place: { endpoint?: string; region?: string; credentials?: { accessKeyId: string; secretAccessKey: string } } = {},
): DynamoDBClient {
  return new DynamoDBClient({ ...PATIENT, ...place });
}

/** The table that the stack names, or another one of that design; of all items only these attributes and the keys. */
export function openTableScanner(
  attributes: readonly string[],
  name = requireEnv('TABLE_NAME'),
  client = patientClient(),
): TableScanner {
  const documents = DynamoDBDocumentClient.from(client);
  const projected = ['pk', 'sk', ...attributes];
  const projection = {
    ProjectionExpression: projected.map((_, index) => `#n${index}`).join(', '),
    ExpressionAttributeNames: Object.fromEntries(projected.map((attribute, index) => [`#n${index}`, attribute])),
  };

  async function getTogether(keys: readonly Key[]): Promise<(Item | undefined)[]> {
    const TransactItems = keys.map((Key) => ({ Get: { TableName: name, Key, ...projection } }));
    for (let tries = 1; ; tries++) {
      try {
        const { Responses = [] } = await documents.send(new TransactGetCommand({ TransactItems }));
        return keys.map((_, index) => Responses[index]?.Item as Item | undefined);
      } catch (error) {
        if (tries === TRIES || !(error instanceof Error) || error.name !== 'TransactionCanceledException') throw error;
        await new Promise((resolve) => setTimeout(resolve, randomInt(LONGEST_WAIT)));
      }
    }
  }

  return {
    async *scan() {
      let next: Record<string, unknown> | undefined;
      do {
        const page = await documents.send(
          new ScanCommand({
            TableName: name,
            ConsistentRead: true,
            ...projection,
            ...(next && { ExclusiveStartKey: next }),
          }),
        );
        yield (page.Items ?? []) as Item[];
        next = page.LastEvaluatedKey;
      } while (next);
    },

    async snapshot(keys) {
      const [only, ...others] = keys;
      if (!only || others.length > 0) return getTogether(keys);
      // One item is always of one moment, and a plain read meets no transaction.
      const { Item } = await documents.send(
        new GetCommand({ TableName: name, Key: only, ConsistentRead: true, ...projection }),
      );
      return [Item as Item | undefined];
    },

    async range(pk, range) {
      const found: Item[] = [];
      let next: Record<string, unknown> | undefined;
      do {
        const page = await documents.send(
          new QueryCommand({
            TableName: name,
            KeyConditionExpression: range ? '#pk = :pk AND #sk BETWEEN :from AND :to' : '#pk = :pk',
            ProjectionExpression: '#pk, #sk, #bytes',
            ExpressionAttributeNames: { '#pk': 'pk', '#sk': 'sk', '#bytes': 'bytes' },
            ExpressionAttributeValues: { ':pk': pk, ...(range && { ':from': range.from, ':to': range.to }) },
            ConsistentRead: true,
            ...(next && { ExclusiveStartKey: next }),
          }),
        );
        found.push(...((page.Items ?? []) as Item[]));
        next = page.LastEvaluatedKey;
      } while (next);
      return found;
    },
  };
}
