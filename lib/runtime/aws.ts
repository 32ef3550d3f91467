import http from 'node:http';
import https from 'node:https';
import { remainingMs } from './deadline.ts';

/** What is left to answer with when a call to AWS has used up all the rest, in milliseconds. */
export const RESERVE = 500;

/** How long opening a connection may take; milliseconds. */
const CONNECTION_TIMEOUT = 500;

/** The connections of all AWS clients of a function. */
const agents = {
  httpAgent: new http.Agent({ keepAlive: true, maxSockets: 50 }),
  httpsAgent: new https.Agent({ keepAlive: true, maxSockets: 50 }),
};

/**
 * How every AWS client is made. The SDK only warns about a late answer unless it is told to throw, and would then wait
 * for ever; it repeats throttled, failed and lost calls itself, a transaction under the same token.
 */
export const clientSettings = {
  maxAttempts: 3,
  requestHandler: {
    connectionTimeout: CONNECTION_TIMEOUT,
    requestTimeout: 1500,
    throwOnRequestTimeout: true,
    ...agents,
  },
};

/** Opens a connection of an AWS client ahead of its first call, which then needs no handshakes. What goes wrong is left to that call. */
export function openConnection(service: 'dynamodb' | 'email'): void {
  const { AWS_ENDPOINT_URL: local, AWS_REGION: region } = process.env;
  const isLocal = local?.startsWith('http:');
  const options = {
    method: 'HEAD',
    agent: isLocal ? agents.httpAgent : agents.httpsAgent,
    timeout: CONNECTION_TIMEOUT,
  };
  const url = local ?? `https://${service}.${region}.amazonaws.com`;
  const request = (isLocal ? http : https).request(url, options, (response) => response.resume());
  request
    .on('error', () => undefined)
    .on('timeout', () => request.destroy())
    .end();
}

/** The option that ends a call to AWS in time for the current request to be answered, or before; milliseconds. */
export function inTime(longest = Number.POSITIVE_INFINITY): { abortSignal?: AbortSignal } {
  const left = Math.min(longest, remainingMs() - RESERVE);
  if (left === Number.POSITIVE_INFINITY) return {};
  return { abortSignal: left > 0 ? AbortSignal.timeout(Math.floor(left)) : AbortSignal.abort() };
}

const NO_ANSWER = new Set(['TimeoutError', 'AbortError', 'TransactionInProgressException']);
const THROTTLED = new Set([
  'ThrottlingException',
  'ThrottlingError',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'LimitExceededException',
  'TransactionConflictException',
  'KMSInternalException',
  'KeyUnavailableException',
  'DependencyTimeoutException',
]);

/** Whether AWS could not be reached, did not answer in time or asked to come back later: nobody's mistake, and worth another try. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { $metadata, $retryable, code } = error as Error & {
    $metadata?: { httpStatusCode?: number };
    $retryable?: unknown;
    code?: string;
  };
  return (
    NO_ANSWER.has(error.name) ||
    THROTTLED.has(error.name) ||
    $retryable !== undefined ||
    ($metadata?.httpStatusCode ?? 0) >= 500 ||
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT'].includes(code ?? '')
  );
}
