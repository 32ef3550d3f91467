import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

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

/** Middleware on every call: delays, counts or changes it, or responds itself. */
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

/**
 * Why a request is rejected whose `Host` is another name. A web page can make its own name resolve
 * to this machine (DNS rebinding), and the browser would then let it read every response. Nobody
 * can do that with an address, which a development server on the network hands on.
 */
export function foreignHost({ headers: { host } }: IncomingMessage): string | undefined {
  const name = URL.parse(`http://${host}`)?.hostname ?? '';
  const isOwn = /^(.*\.)?localhost$/.test(name) || isIP(name.replaceAll(/[[\]]/g, '')) !== 0;
  if (host === undefined || isOwn) return undefined;
  return `The local cloud responds as localhost and as IP addresses only, not as ${host}`;
}

/** The path of SES's operation SendEmail; other operations name themselves in a header. */
export const SEND_MAIL = '/v2/email/outbound-emails';

export const isAwsCall = ({ url, headers }: IncomingMessage): boolean =>
  url === SEND_MAIL || 'x-amz-target' in headers;
