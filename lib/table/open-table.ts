import { type ConsumedCapacity, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { Failure } from '../contract/failure.ts';
import { clientSettings, THROTTLED_WAIT_MS } from '../runtime/aws.ts';
import {
  abortBeforeDeadline,
  requireEnv,
  throttledTriesMax,
} from '../runtime/execution-environment.ts';
import { isOutage } from '../runtime/outage.ts';
import { sleepJittered } from '../runtime/waiting.ts';
import { guardFormat, withGuard } from './format.ts';
import { sequenceKey } from './item-kind.ts';
import type { Key } from './keys.ts';
import { type Item, LIST_ITEMS_MAX, LIST_UNITS_MAX, type Table } from './table.ts';
import type { Write } from './write.ts';

let shared: DynamoDBClient | undefined;

/**
 * One client per function, so that the first request reuses the connection that the cold start
 * opened.
 */
export function sharedClient(): DynamoDBClient {
  shared ??= new DynamoDBClient(clientSettings);
  return shared;
}

/** One guard per function, so that the first use of the table is the only one that checks it. */
export const sharedGuard = /* @__PURE__ */ guardFormat();

/**
 * Opens the table of the stack for a function. Also fails with unavailable as long as its format is
 * newer than this code understands.
 */
export function openTable(): Table {
  return withGuard(openTableWith(requireEnv('TABLE_NAME'), sharedClient()), sharedGuard);
}

/** All document clients of a client share its settings, which the last one would replace. */
export const documentClient = (client: DynamoDBClient): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

/** Opens any table of this design, whatever its format. */
export function openTableWith(name: string, client: DynamoDBClient): Table {
  const documents = documentClient(client);
  return { ...readsOf(documents, name), ...writesOf(documents, name) };
}

function readsOf(
  documents: DynamoDBDocumentClient,
  name: string,
): Pick<Table, 'get' | 'getAll' | 'query'> {
  return {
    async get(key) {
      const { Item } = await documents.send(
        new GetCommand({ TableName: name, Key: key, ConsistentRead: true }),
        abortBeforeDeadline(),
      );
      return Item as Item | undefined;
    },

    async getAll(keys, onConsumed) {
      const items = new Map<string, Item>();
      let remainingKeys: readonly Key[] = keys;
      for (let tries = 1; remainingKeys.length > 0; tries++) {
        const { Responses, UnprocessedKeys, ConsumedCapacity } = await documents.send(
          new BatchGetCommand({
            RequestItems: { [name]: { Keys: [...remainingKeys], ConsistentRead: true } },
            ...(onConsumed && { ReturnConsumedCapacity: 'TOTAL' }),
          }),
          abortBeforeDeadline(),
        );
        onConsumed?.(unitsOf(ConsumedCapacity));
        for (const item of (Responses?.[name] ?? []) as Item[]) items.set(nameOf(item), item);
        remainingKeys = (UnprocessedKeys?.[name]?.Keys ?? []) as unknown as Key[];
        if (remainingKeys.length === 0) break;
        // 100 items are far smaller than the 16 MB of a response, so these keys were throttled.
        if (tries === throttledTriesMax()) throw new Failure('unavailable');
        await sleepJittered(THROTTLED_WAIT_MS);
      }
      return keys.map((key) => items.get(nameOf(key)));
    },

    async query(pk, range = {}, onConsumed = () => undefined) {
      const {
        from,
        to,
        backwards = false,
        limit = Number.POSITIVE_INFINITY,
        tooLong = 'list-too-long',
      } = range;
      if (limit !== Number.POSITIVE_INFINITY && limit > LIST_ITEMS_MAX) throw new Failure(tooLong);
      const items: Item[] = [];
      let units = 0;
      let next: Record<string, unknown> | undefined;
      do {
        const page = await documents.send(
          new QueryCommand({
            TableName: name,
            KeyConditionExpression:
              from === undefined ? 'pk = :pk' : 'pk = :pk AND sk BETWEEN :from AND :to',
            ExpressionAttributeValues: { ':pk': pk, ':from': from, ':to': to },
            ConsistentRead: true,
            ScanIndexForward: !backwards,
            ReturnConsumedCapacity: 'TOTAL',
            ...(limit !== Number.POSITIVE_INFINITY && { Limit: limit - items.length }),
            ...(next && { ExclusiveStartKey: next }),
          }),
          abortBeforeDeadline(),
        );
        items.push(...((page.Items ?? []) as Item[]));
        const consumed = page.ConsumedCapacity?.CapacityUnits ?? 0;
        onConsumed(consumed);
        units += consumed;
        next = page.LastEvaluatedKey;
        const more = next !== undefined && items.length < limit;
        if (items.length > LIST_ITEMS_MAX || (more && units > LIST_UNITS_MAX))
          throw new Failure(tooLong);
      } while (next && items.length < limit);
      return items;
    },
  };
}

function writesOf(
  documents: DynamoDBDocumentClient,
  name: string,
): Pick<Table, 'nextId' | 'update' | 'transact'> {
  return {
    async nextId(kind, howMany = 1) {
      const { Attributes } = await documents.send(
        new UpdateCommand({
          TableName: name,
          Key: sequenceKey(kind),
          UpdateExpression: 'ADD #n :howMany',
          ExpressionAttributeNames: { '#n': 'n' },
          ExpressionAttributeValues: { ':howMany': howMany },
          ReturnValues: 'UPDATED_NEW',
        }),
        abortBeforeDeadline(),
      );
      return Attributes?.n as number;
    },

    async update(write) {
      const { Update } = action(name, write) as { Update: UpdateCommandInput };
      try {
        const command = new UpdateCommand({ ...Update, ReturnValues: 'ALL_NEW' });
        return (await documents.send(command, abortBeforeDeadline())).Attributes as Item;
      } catch (error) {
        if (error instanceof Error && error.name === 'ConditionalCheckFailedException')
          return undefined;
        throw isOutage(error) ? new Failure('unavailable', { cause: error }) : error;
      }
    },

    async transact(writes, token) {
      await documents.send(
        new TransactWriteCommand({
          ClientRequestToken: token,
          TransactItems: writes.map((write) => action(name, write)),
        }),
        abortBeforeDeadline(),
      );
    },
  };
}

/** The read units that a call for one table has consumed. */
export const unitsOf = (consumed: readonly ConsumedCapacity[] | undefined): number =>
  consumed?.[0]?.CapacityUnits ?? 0;

const nameOf = ({ pk, sk }: Key): string => `${pk}\0${sk}`;

function action(table: string, { act, key, attributes, update, condition, names, values }: Write) {
  const common = {
    TableName: table,
    // DynamoDB rejects an empty one, which must never become a write without a condition.
    ConditionExpression: condition,
    ...(names && Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(values && Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
  switch (act) {
    case 'Put':
      return { Put: { ...common, Item: { ...attributes, ...key } } };
    case 'Update':
      return { Update: { ...common, Key: key, UpdateExpression: update } };
    case 'Delete':
      return { Delete: { ...common, Key: key } };
    case 'ConditionCheck':
      return { ConditionCheck: { ...common, Key: key } };
  }
}
