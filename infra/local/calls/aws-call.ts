export interface OperationCall {
  readonly operation: string;
  readonly input: Record<string, unknown>;
}

export interface AwsCall extends OperationCall {
  readonly service: 'DynamoDB' | 'KMS' | 'SES';
  /** The calling function; undefined for other callers, such as an operator's command. */
  readonly functionName: string | undefined;
  kill(): void;
}

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

export const errorResponse = (__type: string, message: string, status = 400): AwsResponse => ({
  status,
  body: { __type, message },
});

export type Forward = (input: AwsCall['input']) => Promise<AwsResponse>;

/** Forwards a call to the engine unless DynamoDB would throttle it. */
export type Meter = (
  call: OperationCall,
  forward: Forward,
  /** Reads the sizes of stored items; not metered. */
  batchGetItem: Forward,
) => Promise<AwsResponse>;
