import { type Attributes, fromAttributes, toAttributes } from './attribute-values.ts';
import {
  AwsClient,
  type ClientConfig,
  type Command,
  commandFor,
  type Fields,
  type SendOptions,
} from './aws-client.ts';

export class DynamoDBClient extends AwsClient {
  constructor(config?: ClientConfig) {
    // The SDK retries calls to DynamoDB twice as fast as others.
    super('dynamodb', config, 25);
  }
}

/** Replaces the SDK's document client: converts between objects and DynamoDB's JSON. */
export class DynamoDBDocumentClient {
  readonly #client;

  private constructor(client: AwsClient) {
    this.#client = client;
  }

  static from(client: AwsClient) {
    return new DynamoDBDocumentClient(client);
  }

  async send({ operation, input }: Command, { abortSignal }: SendOptions = {}) {
    const headers = {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': `DynamoDB_20120810.${operation}`,
    };
    const call = { operation, path: '/', headers };
    return decoded(await this.#client.post(call, encoded(input), abortSignal));
  }
}

/** Converts the values in a request; everything else, such as expressions, stays as it is. */
function encoded(input: unknown): unknown {
  if (Array.isArray(input)) return input.map(encoded);
  if (typeof input !== 'object' || input === null) return input;
  const output: Fields = {};
  for (const name in input) {
    const value = (input as Fields)[name];
    if (value === undefined) continue;
    if (name === 'Keys') output[name] = (value as object[]).map(toAttributes);
    else if (VALUES.has(name)) output[name] = toAttributes(value as object);
    else output[name] = encoded(value);
  }
  return output;
}
const VALUES = new Set(['Key', 'Item', 'ExclusiveStartKey', 'ExpressionAttributeValues']);

function decoded(output: Fields): Fields {
  for (const [name, value] of Object.entries(output)) {
    if (ITEMS.has(name)) output[name] = fromAttributes(value as Attributes);
    else if (name === 'Items' || name === 'Keys')
      output[name] = (value as Attributes[]).map(fromAttributes);
    else if (name === 'UnprocessedKeys')
      for (const keys of Object.values(value as Fields)) decoded(keys as Fields);
    else if (name === 'Responses' && Array.isArray(value)) value.forEach(decoded);
    else if (name === 'Responses') {
      const tables = value as Record<string, object[]>;
      for (const table in tables)
        tables[table] = (tables[table] as Attributes[]).map(fromAttributes);
    }
  }
  return output;
}
const ITEMS = new Set(['Item', 'Attributes', 'LastEvaluatedKey']);

export const GetCommand = commandFor('GetItem');
export const BatchGetCommand = commandFor('BatchGetItem');
export const QueryCommand = commandFor('Query');
export const ScanCommand = commandFor('Scan');
export const UpdateCommand = commandFor('UpdateItem');
export const TransactGetCommand = commandFor('TransactGetItems');
export const TransactWriteCommand = commandFor('TransactWriteItems');
