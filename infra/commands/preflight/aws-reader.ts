import { SESv2Client } from '@aws-sdk/client-sesv2';
import aws4 from 'aws4';
import { domainOf } from '../../settings/domain-of.ts';

/** A request to an AWS API; one with an input is sent with POST. */
interface AwsRequest {
  readonly service: 'acm' | 'dynamodb' | 'lambda' | 'secretsmanager' | 'sns' | 'ssm' | 'sts';
  readonly path?: string;
  /** The operation of a JSON API. */
  readonly target?: string;
  /** Sent as JSON to a target, otherwise as a form. */
  readonly input?: Readonly<Record<string, string>>;
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
    async read({ service, path = '/', target, input }) {
      const url = new URL(path, endpoint || `https://${service}.${region}.${domainOf(region)}`);
      const json = `x-amz-json-1.${service === 'dynamodb' ? 0 : 1}`;
      const request = {
        method: input ? 'POST' : 'GET',
        headers: {
          ...(input && {
            'Content-Type': `application/${target ? json : 'x-www-form-urlencoded'}`,
          }),
          ...(target && { 'X-Amz-Target': target }),
        },
        ...(input && {
          body: target ? JSON.stringify(input) : new URLSearchParams(input).toString(),
        }),
      };
      const signed = aws4.sign(
        { ...request, service, region, host: url.host, path },
        await ses.config.credentials(),
      );
      const { Host: _, ...headers } = signed.headers as Record<string, string>;
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(url, { ...request, headers, signal });
      const text = await response.text();
      if (!response.ok) throw errorIn(response, text);
      return text;
    },
  };
}

/** The type of an error is in a header, in JSON or in XML, depending on the age of the API. */
function errorIn({ headers, status }: Response, text: string): Error {
  const [, inJson, inXml] = /"__type":\s*"(?:[^"]*#)?(\w+)|<Code>(\w+)/.exec(text) ?? [];
  const inHeader = headers.get('x-amzn-errortype')?.split(':')[0];
  const name = inHeader ?? inJson ?? inXml ?? `HTTP ${status}`;
  const [, ofJson, ofXml] = /"[mM]essage":\s*"([^"]*)|<Message>([^<]*)/.exec(text) ?? [];
  return Object.assign(new Error(ofJson ?? ofXml ?? name), { name: ERRORS[name] ?? name });
}

/** SNS abbreviates names that other services have in full. */
const ERRORS: Readonly<Record<string, string>> = {
  AuthorizationError: 'AccessDeniedException',
  ExpiredToken: 'ExpiredTokenException',
  NotFound: 'NotFoundException',
};
