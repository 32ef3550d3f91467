import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetCommand, QueryCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { requireEnv } from '../runtime/execution-environment.ts';
import type { Key } from './keys.ts';
import { documentClient } from './open-table.ts';
import { transactGet } from './snapshot.ts';
import type { Item } from './table.ts';
import { NOT_FROM_AWS } from './wrong-table.ts';

/*
 * Reads that only the verification of a whole table needs. They are separate from table.ts so that
 * no endpoint's bundle includes them, and they cannot write.
 */

/**
 * Reads of the whole table. Every read is strongly consistent and returns only the projected
 * attributes.
 */
export interface TableScanner {
  /**
   * All items, page by page, in no particular order. Items written during the scan may be missing
   * or outdated.
   */
  scan(): AsyncGenerator<Item[]>;
  /**
   * Up to 100 items as of one moment, in the order of `keys`; undefined for an item that does not
   * exist.
   */
  snapshot(keys: readonly Key[]): Promise<(Item | undefined)[]>;
  /**
   * The items of a collection, or of a range of it, in key order: only the keys and the `bytes` of
   * parameters.
   */
  range(pk: string, range?: { readonly from: string; readonly to: string }): Promise<Item[]>;
}

/**
 * Timeouts in milliseconds. They are longer than the timeouts of requests, because no client of
 * the API waits for a command or the verification.
 */
export const PATIENT_SETTINGS = {
  maxAttempts: 6,
  requestHandler: { connectionTimeout: 3000, requestTimeout: 20_000, throwOnRequestTimeout: true },
};

/**
 * A client for verifying a table, with the region and credentials of the environment unless others
 * are given.
 */
export function scannerClient(
  settings: {
    endpoint?: string;
    region?: string;
    credentials?: { accessKeyId: string; secretAccessKey: string };
  } = {},
): DynamoDBClient {
  return new DynamoDBClient({ ...PATIENT_SETTINGS, ...settings });
}

/**
 * Opens the table of the stack, or another one of the same design. Reads return only the keys and
 * these attributes.
 */
export function openTableScanner(
  attributes: readonly string[],
  name = requireEnv('TABLE_NAME'),
  client = scannerClient(),
): TableScanner {
  const documents = documentClient(client);
  const projected = ['pk', 'sk', ...attributes];
  const projection = {
    ProjectionExpression: projected.map((_, index) => `#n${index}`).join(', '),
    ExpressionAttributeNames: Object.fromEntries(
      projected.map((attribute, index) => [`#n${index}`, attribute]),
    ),
  };

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
        yield itemsIn(page);
        next = page.LastEvaluatedKey;
      } while (next);
    },

    async snapshot(keys) {
      const [only, ...others] = keys;
      if (!only || others.length > 0) {
        return transactGet(
          documents,
          keys.map((Key) => ({ TableName: name, Key, ...projection })),
        );
      }
      // A single item needs no transaction: GetItem is atomic and never conflicts.
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
            ExpressionAttributeValues: {
              ':pk': pk,
              ...(range && { ':from': range.from, ':to': range.to }),
            },
            ConsistentRead: true,
            ...(next && { ExclusiveStartKey: next }),
          }),
        );
        found.push(...itemsIn(page));
        next = page.LastEvaluatedKey;
      } while (next);
      return found;
    },
  };
}

/**
 * DynamoDB states the items of a page even if there are none. A proxy that answers must not make a
 * table look empty.
 */
function itemsIn({ Items }: { readonly Items?: Record<string, unknown>[] | undefined }): Item[] {
  if (!Items) throw new Error(NOT_FROM_AWS);
  return Items as Item[];
}
