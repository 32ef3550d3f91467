/** A call to AWS, before it is made. */
export interface AwsCall {
  readonly service: 'DynamoDB' | 'KMS' | 'SES';
  readonly operation: string;
  readonly input: Record<string, unknown>;
  /** The function that makes it; undefined for anyone else, an operator's script for example. */
  readonly by: string | undefined;
  /** Ends the instance that makes it, as a crash would; nothing for anyone else. */
  kill(): void;
}

/** Runs around every call: can delay it, count it, or respond in its place. */
export type Interceptor = (call: AwsCall, make: () => Promise<AwsResponse>) => Promise<AwsResponse>;

/** An answer of an AWS service: its status, and its body as an object or as the text that it already is. */
export interface AwsResponse {
  readonly status: number;
  readonly body: Record<string, unknown> | string;
  /** Where the connection breaks instead of carrying all of it. */
  readonly cut?: 'before' | 'middle';
}
