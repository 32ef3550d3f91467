import { type AttributeValue, fromAttributes, toAttributes } from './attribute-values.ts';
import { type AwsClient, type Command, commandFor, type SendOptions } from './aws-client.ts';

type Fields = Record<string, unknown>;
type Attributes = Record<string, AttributeValue>;

/** Replaces the SDK's document client in the bundles: converts between objects and DynamoDB's JSON. */
export class DynamoDBDocumentClient {
  readonly #client: AwsClient;

  private constructor(client: AwsClient) {
    this.#client = client;
  }

  static from(client: AwsClient): DynamoDBDocumentClient {
    return new DynamoDBDocumentClient(client);
  }

  /** Sends a command. Fails with an error named as in the SDK. */
  async send(command: Command, { abortSignal }: SendOptions = {}): Promise<Fields> {
    const headers = {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': `DynamoDB_20120810.${command.operation}`,
    };
    return decoded(await this.#client.post('/', headers, encoded(command.input), abortSignal));
  }
}

/** Converts the values in a request; everything else, such as expressions, stays as it is. */
function encoded(input: unknown): unknown {
  if (Array.isArray(input)) return input.map(encoded);
  if (typeof input !== 'object' || input === null) return input;
  const output: Fields = {};
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue;
    if (name === 'Keys') output[name] = (value as object[]).map(toAttributes);
    else if (VALUES.has(name)) output[name] = toAttributes(value);
    else output[name] = encoded(value);
  }
  return output;
}
const VALUES = new Set(['Key', 'Item', 'ExclusiveStartKey', 'ExpressionAttributeValues']);

/** Converts the values in a response. */
function decoded(output: Fields): Fields {
  const { Item, Attributes, LastEvaluatedKey, Items, Responses, UnprocessedKeys } = output;
  for (const [name, value] of Object.entries({ Item, Attributes, LastEvaluatedKey })) {
    if (value !== undefined) output[name] = fromAttributes(value as Attributes);
  }
  if (Items !== undefined) output.Items = (Items as Attributes[]).map(fromAttributes);
  if (Array.isArray(Responses)) output.Responses = (Responses as Fields[]).map(decoded);
  else if (Responses !== undefined) output.Responses = mapValues(Responses, (items) => items.map(fromAttributes));
  if (UnprocessedKeys !== undefined) {
    output.UnprocessedKeys = mapValues(UnprocessedKeys, (keys) => ({
      ...keys,
      Keys: (keys as unknown as { Keys: Attributes[] }).Keys.map(fromAttributes),
    }));
  }
  return output;
}

const mapValues = (object: unknown, convert: (value: Attributes[]) => unknown): Fields =>
  Object.fromEntries(
    Object.entries(object as Record<string, Attributes[]>).map(([key, value]) => [key, convert(value)]),
  );

export const GetCommand = commandFor('GetItem');
export const BatchGetCommand = commandFor('BatchGetItem');
export const QueryCommand = commandFor('Query');
export const ScanCommand = commandFor('Scan');
export const UpdateCommand = commandFor('UpdateItem');
export const TransactGetCommand = commandFor('TransactGetItems');
export const TransactWriteCommand = commandFor('TransactWriteItems');
