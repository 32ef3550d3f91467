import { Failure } from '../../lib/contract/failure.ts';
import { NOT_FROM_AWS } from '../../lib/table/not-from-aws.ts';
import { NotGatehouseTable } from '../../lib/table/not-gatehouse-table.ts';

const MISSING_CREDENTIALS = new Set(['CredentialsProviderError', 'TokenProviderError']);
const EXPIRED_CREDENTIALS = new Set(['ExpiredTokenException', 'ExpiredToken', 'RequestExpired']);
const INVALID_CREDENTIALS = new Set([
  'UnrecognizedClientException',
  'InvalidSignatureException',
  // Of services with the query protocol, such as STS and SNS.
  'SignatureDoesNotMatch',
  'InvalidClientTokenId',
  'MissingAuthenticationTokenException',
]);

/** Explains an error of a command to its operator, in one sentence. */
export function explainError(error: unknown, tableName = 'of that name'): string {
  if (!(error instanceof Error)) return String(error);
  // `fetch` hides the error of the network.
  if (error.message === 'fetch failed') return explainError(error.cause, tableName);
  if (error instanceof NotGatehouseTable) return `${tableName} is not a Gatehouse table.`;
  if (error instanceof Failure && error.code === 'unavailable')
    return 'The table did not respond in time.';
  const { name, message, code, hostname } = error as NodeJS.ErrnoException & { hostname?: string };
  if (name === 'ResourceNotFoundException')
    return (
      `There is no table ${tableName} in this account and region: ` +
      'check the credentials and AWS_REGION.'
    );
  if (MISSING_CREDENTIALS.has(name))
    return `There are no AWS credentials, for example in AWS_PROFILE: ${lineOf(message)}`;
  if (EXPIRED_CREDENTIALS.has(name))
    return 'The AWS credentials have expired: renew them and run the command again.';
  if (INVALID_CREDENTIALS.has(name)) return `AWS rejects the credentials: ${lineOf(message)}`;
  if (name === 'AccessDeniedException')
    return `A permission is missing (docs/commands.md lists them): ${lineOf(message)}`;
  if (message === 'Region is missing') return 'There is no AWS region: set AWS_REGION.';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `The host ${hostname} is unknown: check AWS_REGION and the network.`;
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET')
    return 'The table cannot be reached: the service may have been stopped.';
  if (code === 'ERR_INVALID_URL') return 'The endpoint_url of the AWS profile is not a URL.';
  // The SDK calls an error response unknown that does not name its error.
  if (error instanceof SyntaxError || name === 'Unknown' || name === 'UnknownError')
    return notFromAws(error);
  if (name === 'TimeoutError') return 'AWS did not respond in time: run the command again.';
  // Errors thrown by this project are complete sentences; those of the SDK have their own names or
  // codes.
  if (name === 'Error' && code === undefined) return message;
  return `${name}: ${lineOf(message)}`;
}

function notFromAws(error: Error): string {
  const { $response, $metadata } = error as {
    readonly $response?: { readonly statusCode?: number };
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $response?.statusCode ?? $metadata?.httpStatusCode;
  return status
    ? NOT_FROM_AWS.replace('The answer', `The answer with status ${status}`)
    : NOT_FROM_AWS;
}

/** A message of the SDK as a sentence on one line. */
const lineOf = (message: string): string =>
  `${message.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '')}.`;
