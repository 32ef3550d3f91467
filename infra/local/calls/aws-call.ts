export interface AwsCall {
  readonly service: 'DynamoDB' | 'KMS' | 'SES';
  readonly operation: string;
  readonly input: Record<string, unknown>;
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

export type Forward = (input: AwsCall['input']) => Promise<AwsResponse>;

/** Forwards a call to the engine unless DynamoDB would throttle it. */
export type Meter = (
  call: Pick<AwsCall, 'operation' | 'input'>,
  forward: Forward,
  /** Reads the sizes of stored items; not metered. */
  batchGetItem: Forward,
) => Promise<AwsResponse>;
