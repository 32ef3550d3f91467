/** An operation of an AWS API and its input. */
export interface OperationCall {
  readonly operation: string;
  readonly input: Record<string, unknown>;
}

/** A call to AWS, before it is forwarded. */
export interface AwsCall extends OperationCall {
  readonly service: 'DynamoDB' | 'KMS' | 'SES';
  /** The calling function; undefined for other callers, such as an operator's command. */
  readonly functionName: string | undefined;
  kill(): void;
}

/**
 * Middleware on every call: can delay it, count it, add to its input, or respond without forwarding
 * it.
 */
export type Interceptor = (
  call: AwsCall,
  forward: () => Promise<AwsResponse>,
) => Promise<AwsResponse>;

/** The response of an AWS service; a string body is serialized already. */
export interface AwsResponse {
  readonly status: number;
  readonly body: Record<string, unknown> | string;
  readonly cut?: 'before' | 'middle';
}

/** An error as a JSON API of AWS returns it. */
export const errorResponse = (__type: string, message: string, status = 400): AwsResponse => ({
  status,
  body: { __type, message },
});
