import { actionsOf, isWrite } from '../../../infra/local/calls/actions.ts';
import type { AwsCall, AwsResponse, Interceptor } from '../../../infra/local/calls/aws-call.ts';

interface Measured {
  readonly response: AwsResponse;
  readonly readUnits: number;
  readonly writeUnits: number;
}

type Consumed = { readonly CapacityUnits: number } | undefined;

/**
 * Whether a request makes a call, and not a function in the background. Not of a request are the
 * public keys and the format: an instance of a function reads them once in five minutes or in its
 * life, in whichever request.
 */
export const isOfRequest = (call: AwsCall): boolean =>
  / \//.test(call.functionName ?? '') &&
  !actionsOf(call).some(({ pk }) => pk === 'JWKS' || pk === 'FORMAT');

/**
 * Forwards a call, and returns the capacity units that DynamoDB reports for it: none for reads that
 * are not of a request.
 */
export async function measureUnits(
  call: AwsCall,
  forward: Parameters<Interceptor>[1],
): Promise<Measured> {
  if (call.service === 'DynamoDB') call.input.ReturnConsumedCapacity = 'TOTAL';
  const response = await forward();
  const body = typeof response.body === 'string' ? JSON.parse(response.body) : response.body;
  const consumed: Consumed[] = [body.ConsumedCapacity].flat();
  const units = consumed.reduce((sum, each) => sum + (each?.CapacityUnits ?? 0), 0);
  if (isWrite(call.operation)) return { response, readUnits: 0, writeUnits: units };
  return { response, readUnits: isOfRequest(call) ? units : 0, writeUnits: 0 };
}
