import { isWrite } from '../../../infra/local/calls/actions.ts';
import type { AwsCall, AwsResponse, Interceptor } from '../../../infra/local/calls/aws-call.ts';

interface Measured {
  readonly response: AwsResponse;
  readonly readUnits: number;
  readonly writeUnits: number;
}

type Consumed = { readonly CapacityUnits: number } | undefined;

/** Forwards a call, and returns the capacity units that DynamoDB reports for it. */
export async function measureUnits(
  call: AwsCall,
  forward: Parameters<Interceptor>[1],
): Promise<Measured> {
  if (call.service === 'DynamoDB') call.input.ReturnConsumedCapacity = 'TOTAL';
  const response = await forward();
  const body = typeof response.body === 'string' ? JSON.parse(response.body) : response.body;
  const consumed: Consumed[] = [body.ConsumedCapacity].flat();
  const units = consumed.reduce((sum, each) => sum + (each?.CapacityUnits ?? 0), 0);
  return isWrite(call.operation)
    ? { response, readUnits: 0, writeUnits: units }
    : { response, readUnits: units, writeUnits: 0 };
}
