import type { AwsResponse, Meter, OperationCall } from '../calls/aws-call.ts';
import { callEngine } from './engine.ts';
import { tableSettings } from './table-settings.ts';
import { detectConflicts } from './transaction-conflicts.ts';

/** The engine with the rules of DynamoDB that it lacks; `text` is the input as it was received. */
export function openDynamoDb(
  engineUrl: string,
  stackTable: Parameters<typeof tableSettings>[0],
  onCommitted: (call: OperationCall) => void,
  meter: Meter = ({ input }, forward) => forward(input),
) {
  const forward = (operation: string, body: string) => callEngine(engineUrl, operation, body);
  const respondAboutSettings = tableSettings(stackTable, forward);
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
          forward(operation, metered === input ? text : JSON.stringify(metered)),
        ),
      (keys) => forward('BatchGetItem', JSON.stringify(keys)),
    );
    if (response.status === 200) onCommitted(call);
    return response;
  };
}
