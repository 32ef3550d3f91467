import type { AwsResponse, OperationCall } from '../calls/aws-call.ts';
import { callEngine } from './engine.ts';
import { tableSettings } from './stack-table.ts';
import { detectConflicts } from './transaction-conflicts.ts';

/** The engine with the rules of DynamoDB that it lacks. */
export function openDynamoDb(
  engineUrl: string,
  stackTable: Parameters<typeof tableSettings>[0],
  onCommitted: (call: OperationCall) => void,
) {
  const forward = (operation: string, body: string) => callEngine(engineUrl, operation, body);
  const respondAboutSettings = tableSettings(stackTable, forward);
  const forwardUnlessConflicting = detectConflicts();

  return async (call: OperationCall): Promise<AwsResponse> => {
    const { operation, input } = call;
    const aboutSettings = await respondAboutSettings(call);
    if (aboutSettings) return aboutSettings;
    const response = await forwardUnlessConflicting(operation, input, () =>
      forward(operation, JSON.stringify(input)),
    );
    if (response.status === 200) onCommitted(call);
    return response;
  };
}
