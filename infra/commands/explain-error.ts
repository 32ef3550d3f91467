import { NewerFormat } from '../../lib/table/format.ts';
import { NOT_FROM_AWS, NotGatehouseTable } from '../../lib/table/wrong-table.ts';

interface AwsError extends NodeJS.ErrnoException {
  readonly hostname?: string;
  readonly $response?: { readonly statusCode?: number };
  readonly $metadata?: { readonly httpStatusCode?: number };
}

export function explainError(error: unknown, tableName?: string): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause ?? error;
  if (cause instanceof NewerFormat)
    return cause.message.replace('The table', tableName ?? 'The table');
  // `fetch` hides the error of the network.
  if (error.message === 'fetch failed') return explainError(error.cause, tableName);
  if (error instanceof NotGatehouseTable) return `${tableName ?? 'It'} is not a Gatehouse table.`;
  if (error.message === 'Region is missing') return 'There is no AWS region: set AWS_REGION.';
  const { code = '', name, message, hostname, $response, $metadata }: AwsError = error;
  const line = `${message.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '')}.`;
  // The code first: the SDK also names errors of the network TimeoutError.
  for (const key of [code, name])
    switch (key) {
      case 'ResourceNotFoundException':
        return (
          `There is no table ${tableName ?? 'of that name'} in this account and region: ` +
          'check the credentials and AWS_REGION.'
        );
      case 'unavailable':
        return 'The table did not respond in time.';
      case 'TimeoutError':
        return 'AWS did not respond in time: run the command again.';
      case 'CredentialsProviderError':
      case 'TokenProviderError':
        return `There are no AWS credentials, for example in AWS_PROFILE: ${line}`;
      case 'ExpiredTokenException':
      case 'ExpiredToken':
      case 'RequestExpired':
        return 'The AWS credentials have expired: renew them and run the command again.';
      case 'UnrecognizedClientException':
      case 'InvalidSignatureException':
      // Of services with the query protocol, such as STS and SNS.
      case 'SignatureDoesNotMatch':
      case 'InvalidClientTokenId':
      case 'MissingAuthenticationTokenException':
        return `AWS rejects the credentials: ${line}`;
      case 'AccessDenied':
      case 'AccessDeniedException':
      case 'AuthorizationErrorException':
        return `A permission is missing (docs/commands.md lists them): ${line}`;
      case 'ENOTFOUND':
      case 'EAI_AGAIN':
        return `The host ${hostname} is unknown: check AWS_REGION and the network.`;
      case 'ECONNREFUSED':
      case 'ECONNRESET':
        return 'The table cannot be reached: the service may have been stopped.';
      case 'ERR_INVALID_URL':
        return 'The endpoint_url of the AWS profile is not a URL.';
      // The SDK calls an error response unknown that does not name its error.
      case 'SyntaxError':
      case 'Unknown':
      case 'UnknownError': {
        const status = $response?.statusCode ?? $metadata?.httpStatusCode;
        return NOT_FROM_AWS.replace('answer', status ? `answer with status ${status}` : 'answer');
      }
    }
  // This project throws complete sentences; errors of the SDK have their own names or codes.
  return name === 'Error' && !code ? message : `${name}: ${line}`;
}

/** Names the table in the error of a request, for a command that uses several. */
export const namingTable =
  (tableName: string) =>
  (error: unknown): never => {
    throw new Error(explainError(error, tableName));
  };
