/*
 * Which errors a retry may overcome. Separate from the AWS clients, so that functions without one
 * do not load them.
 */

const NO_RESPONSE = new Set(['TimeoutError', 'AbortError', 'TransactionInProgressException']);
const NO_CONNECTION = new Set<string | undefined>([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);
const THROTTLED = new Set([
  'Throttling',
  'ThrottlingException',
  'ThrottlingError',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'LimitExceededException',
  'TooManyRequestsException',
  'TransactionConflictException',
  'ReplicatedWriteConflictException',
  'KMSInternalException',
  'KeyUnavailableException',
  'DependencyTimeoutException',
]);

/**
 * Whether an error is transient, so that a retry may succeed: AWS was unreachable, timed out,
 * throttled or failed.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { $metadata, $retryable, code } = error as Error & {
    $metadata?: { httpStatusCode?: number };
    $retryable?: unknown;
    code?: string;
  };
  return (
    NO_RESPONSE.has(error.name) ||
    THROTTLED.has(error.name) ||
    $retryable !== undefined ||
    ($metadata?.httpStatusCode ?? 0) >= 500 ||
    NO_CONNECTION.has(code)
  );
}

/** Whether a transaction with this reason was cancelled because of throttling. */
export const isThrottlingCode = (code: string): boolean =>
  code === 'ThrottlingError' || code === 'ProvisionedThroughputExceeded';

/** Why DynamoDB has cancelled a transaction, by its positions; undefined for any other error. */
export function cancellationCodes(error: unknown): string[] | undefined {
  const { CancellationReasons } = Object(error) as { CancellationReasons?: { Code?: string }[] };
  return CancellationReasons?.map((reason) => reason.Code ?? 'None');
}

/** Whether DynamoDB has cancelled a transaction because of throttling. */
export const isThrottled = (error: unknown): boolean =>
  cancellationCodes(error)?.some(isThrottlingCode) === true;
