import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Item } from '../../../lib/table/table.ts';
import type { InMemoryScanner } from './memory-table.ts';

// biome-ignore lint/suspicious/noExplicitAny: inputs differ by operation
export type Input = Record<string, any>;

/** `{ error }` is an exception, `'cut'` closes the connection, `'no-response'` leaves it open. */
export type ScriptedResponse =
  | object
  | { error: string; message?: string; CancellationReasons?: object[] }
  | 'cut'
  | 'no-response';

/** An operation is the name of a JSON or a query API, or method and path of a REST API. */
export async function scriptedAws(
  respond: (operation: string, input: Input, region: string) => ScriptedResponse | undefined,
) {
  const calls: string[] = [];
  const server = createServer(async (request, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const isForm = String(request.headers['content-type']).startsWith(
      'application/x-www-form-urlencoded',
    );
    const input = isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body || '{}');
    const target = request.headers['x-amz-target'];
    const operation =
      input.Action ?? target?.toString().split('.').at(-1) ?? `${request.method} ${request.url}`;
    calls.push(operation);
    const [, region = ''] =
      /Credential=[^/]+\/\d+\/([\w-]+)/.exec(request.headers.authorization ?? '') ?? [];
    const response = respond(operation, input, region);
    if (response === 'no-response') return;
    if (response === 'cut' || response === undefined) return request.socket.destroy();
    const { error, ...fields } = response as { error?: string; message?: string };
    outgoing.writeHead(error ? 400 : 200, {
      'Content-Type': isForm ? 'text/xml' : 'application/x-amz-json-1.0',
    });
    if (!isForm) outgoing.end(JSON.stringify(error ? { __type: error, ...fields } : fields));
    else if (error)
      outgoing.end(xmlOf({ ErrorResponse: { Error: { Code: error, Message: fields.message } } }));
    else outgoing.end(xmlOf({ Response: { [`${operation}Result`]: fields } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    calls,
    environment: {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      AWS_REGION: 'eu-north-1',
      AWS_ACCESS_KEY_ID: 'operator',
      AWS_SECRET_ACCESS_KEY: 'local',
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** As query APIs serialize lists, maps (which have the name Attributes) and structures. */
function xmlOf(value: unknown, isMap = false): string {
  if (Array.isArray(value)) return value.map((one) => `<member>${xmlOf(one)}</member>`).join('');
  if (typeof value !== 'object' || value === null)
    return String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return Object.entries(value)
    .map(([name, content]) =>
      isMap
        ? `<entry><key>${name}</key><value>${xmlOf(content)}</value></entry>`
        : `<${name}>${xmlOf(content, name === 'Attributes')}</${name}>`,
    )
    .join('');
}

const found = (item: Item | undefined) => (item ? { Item: marshall(item) } : {});
const keyIn = ({ pk, sk }: Input) => ({ pk: pk.S, sk: sk.S });

const numbersIn = (item: Input) =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, { N }]) => (N === undefined ? [] : [[name, Number(N)]])),
  );

/** Responds like DynamoDB, without evaluating the conditions of deletes and puts. */
export function respondFrom(
  table: InMemoryScanner,
  operation: string,
  input: Input,
): ScriptedResponse {
  switch (operation) {
    case 'Scan':
      return { Items: table.items.map((item) => marshall(item)) };
    case 'GetItem':
      return found(table.find(keyIn(input.Key)));
    case 'TransactGetItems':
      return {
        Responses: input.TransactItems.map(({ Get }: Input) => found(table.find(keyIn(Get.Key)))),
      };
    case 'Query': {
      const pk = input.ExpressionAttributeValues[':pk'].S;
      const items = table.items
        .filter((item) => item.pk === pk)
        .sort((one, other) => (one.sk < other.sk ? -1 : 1));
      return { Items: items.map((item) => marshall(item)) };
    }
    case 'TransactWriteItems':
      for (const { Put, Delete } of input.TransactItems as Input[]) {
        if (Put) table.put(keyIn(Put.Item), numbersIn(Put.Item));
        if (Delete) table.remove(keyIn(Delete.Key));
      }
      return {};
    default:
      return { error: 'UnknownOperationException' };
  }
}
