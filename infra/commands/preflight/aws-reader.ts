import { SESv2Client } from '@aws-sdk/client-sesv2';
import aws4 from 'aws4';
import { domainOf } from '../../settings/domain-of.ts';

/** A request to an AWS API; a body is sent with POST. */
interface AwsRequest {
  readonly service: 'acm' | 'dynamodb' | 'lambda' | 'secretsmanager' | 'sns' | 'ssm' | 'sts';
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const TIMEOUT_MS = 10_000;

/**
 * Reads what AWS has, with the operator's credentials. The project has SDK clients for few
 * services.
 */
export interface AwsReader {
  readonly region: string;
  readonly ses: SESv2Client;
  /** The body of a successful response. Fails with an error named as in the SDK. */
  read(request: AwsRequest): Promise<string>;
}

/** Reads in this region, at another endpoint if one is given. */
export function awsReader(region: string, endpoint = process.env.AWS_ENDPOINT_URL): AwsReader {
  const ses = new SESv2Client({ region, ...(endpoint && { endpoint }) });
  return {
    region,
    ses,
    async read({ service, path = '/', headers, body }) {
      const url = new URL(path, endpoint || `https://${service}.${region}.${domainOf(region)}`);
      const credentials = await ses.config.credentials();
      const method = body === undefined ? 'GET' : 'POST';
      const unsigned = {
        service,
        region,
        host: url.host,
        path,
        method,
        headers: { ...headers },
        ...(body && { body }),
      };
      const { Host: _, ...signed } = aws4.sign(unsigned, credentials).headers as Record<
        string,
        string
      >;
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(url, { method, headers: signed, signal, ...(body && { body }) });
      const text = await response.text();
      if (!response.ok) throw errorIn(response, text);
      return text;
    },
  };
}

/** The type of an error is in a header, in JSON or in XML, depending on the age of the API. */
function errorIn({ headers, status }: Response, text: string): Error {
  const inText = /"__type":\s*"(?:[^"]*#)?(\w+)|<Code>(\w+)/.exec(text);
  const name =
    headers.get('x-amzn-errortype')?.split(':')[0] ??
    inText?.[1] ??
    inText?.[2] ??
    `HTTP ${status}`;
  const message = /"[mM]essage":\s*"([^"]*)|<Message>([^<]*)/.exec(text);
  return Object.assign(new Error(message?.[1] ?? message?.[2] ?? name), {
    name: ERRORS[name] ?? name,
  });
}

/** SNS abbreviates names that other services have in full. */
const ERRORS: Readonly<Record<string, string>> = {
  AuthorizationError: 'AccessDeniedException',
  ExpiredToken: 'ExpiredTokenException',
  NotFound: 'NotFoundException',
};
