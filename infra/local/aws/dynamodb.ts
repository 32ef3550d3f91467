import { type Agent, request } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { AwsResponse, Meter, OperationCall } from '../calls/aws-call.ts';
import { readBody } from '../calls/incoming.ts';
import { engineHeaders } from './engine.ts';
import { tableSettings } from './table-settings.ts';
import { detectConflicts } from './transaction-conflicts.ts';

export interface DynamoDbOptions {
  readonly engineUrl: string;
  readonly onCommitted: (call: OperationCall) => void;
  readonly meter?: Meter | undefined;
}

/** The engine with the rules of DynamoDB that it lacks; `text` is the input as it was received. */
export function openDynamoDb(
  { engineUrl, onCommitted, meter = ({ input }, forward) => forward(input) }: DynamoDbOptions,
  stackTable: Parameters<typeof tableSettings>[0],
  agent: Agent,
) {
  const engine = { ...urlToHttpOptions(new URL(engineUrl)), agent, method: 'POST' };
  const callEngine = (operation: string, body: string) =>
    new Promise<AwsResponse>((resolve, reject) => {
      const headers = { ...engineHeaders(operation), 'Content-Length': Buffer.byteLength(body) };
      request({ ...engine, headers }, (res) => {
        readBody(res).then(
          (bytes) => resolve({ status: res.statusCode ?? 500, body: String(bytes) }),
          reject,
        );
      })
        .on('error', reject)
        .end(body);
    });
  const respondAboutSettings = tableSettings(stackTable, callEngine);
  const forwardUnlessConflicting = detectConflicts();

  return async (call: OperationCall, text: string): Promise<AwsResponse> => {
    const { operation, input } = call;
    const aboutSettings = await respondAboutSettings(call);
    if (aboutSettings) return aboutSettings;
    // Metering comes first: a throttled transaction must not conflict with others.
    const response = await meter(
      call,
      (metered) =>
        forwardUnlessConflicting(operation, metered, () =>
          callEngine(operation, metered === input ? text : JSON.stringify(metered)),
        ),
      (keys) => callEngine('BatchGetItem', JSON.stringify(keys)),
    );
    if (response.status === 200) onCommitted(call);
    return response;
  };
}
