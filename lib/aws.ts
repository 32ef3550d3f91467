import { timeLeft } from './time-left.ts';

/** What is left to answer with when a call to AWS has used up all the rest, in milliseconds. */
export const RESERVE = 500;

/**
 * How every AWS client is made. The SDK only warns about a late answer unless it is told to throw, and would then wait
 * for ever; it repeats throttled, failed and lost calls itself, a transaction under the same token.
 */
export const clientSettings = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 500, requestTimeout: 1500, throwOnRequestTimeout: true },
};

/** The option that ends a call to AWS in time for the current request to be answered. */
export function inTime(): { abortSignal?: AbortSignal } {
  const left = timeLeft() - RESERVE;
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
