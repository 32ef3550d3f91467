import { type Agent, type RequestOptions, request } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { AwsCall, AwsResponse, Meter } from '../calls/aws-call.ts';
import { readText } from '../calls/read-body.ts';
import { engineHeaders } from './engine.ts';
import { tableSettings } from './table-settings.ts';
import { detectConflicts } from './transaction-conflicts.ts';

export interface DynamoDbOptions {
  readonly engineUrl: string;
  /** The table of the stack, for its tags. */
  readonly stackTable: Parameters<typeof tableSettings>[0];
  readonly onCommitted: (call: Pick<AwsCall, 'operation' | 'input'>) => void;
  readonly meter?: Meter | undefined;
}

/** The engine with the rules of DynamoDB that it lacks; `text` is the input as it was received. */
export function openDynamoDb(options: DynamoDbOptions, agent: Agent) {
  const engine = { ...urlToHttpOptions(new URL(options.engineUrl)), agent };
  const callEngine = (name: string, body: string) => sendToEngine(engine, name, body);
  const respondAboutSettings = tableSettings(options.stackTable);
  const forwardUnlessConflicting = detectConflicts();
  const meter: Meter = options.meter ?? (({ input }, forward) => forward(input));

  return async function respond(
    operation: string,
    input: AwsCall['input'],
    text: string,
  ): Promise<AwsResponse> {
    const aboutSettings = await respondAboutSettings(operation, input, callEngine);
    if (aboutSettings) return aboutSettings;
    // Metering comes first: a throttled transaction must not conflict with others.
    const response = await meter(
      { operation, input },
      (metered) =>
        forwardUnlessConflicting(operation, metered, () =>
          callEngine(operation, metered === input ? text : JSON.stringify(metered)),
        ),
      (keys) => callEngine('BatchGetItem', JSON.stringify(keys)),
    );
    if (response.status === 200) options.onCommitted({ operation, input });
    return response;
  };
}

function sendToEngine(
  engine: RequestOptions,
  operation: string,
  body: string,
): Promise<AwsResponse> {
  return new Promise((resolve, reject) => {
    const headers = { ...engineHeaders(operation), 'Content-Length': Buffer.byteLength(body) };
    const call = request({ ...engine, method: 'POST', headers }, (res) => {
      readText(res).then((text) => resolve({ status: res.statusCode ?? 500, body: text }), reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}
