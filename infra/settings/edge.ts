import * as v from 'valibot';
import { Failure } from '../../lib/contract/failure.ts';
import { problem } from '../../lib/http/problem.ts';
import { certificate, hostName } from './host-names.ts';
import { distinct, matching, setting } from './setting.ts';

/* The edge in front of the API. */

/** The region of everything that belongs to CloudFront. */
export const EDGE_REGION = 'us-east-1';

/** The stack of the edge, whose web ACL has a metric of the same name. */
export const edgeStackName = (environment: string): string => `GatehouseEdge-${environment}`;

/** The description of that stack, whose name does not tell environments of two regions apart. */
export const edgeDescription = (region: string): string =>
  `Gatehouse: the edge in front of the API in ${region}`;

export const edgeAlarmName = (environment: string): string =>
  `${edgeStackName(environment)}-errors`;

/** WAF requires the prefix of the log group. */
export const blockedLogName = (stack: string): string => `aws-waf-logs-${stack}`;

const { status, body } = problem(new Failure('too-many-attempts'), 'userManagement', '');

/**
 * The response to too many requests: the login throttle's, without the path, which WAF cannot know.
 */
export const EDGE_REJECTION = { status, body: { ...JSON.parse(String(body)), path: undefined } };

/** A limit of a rate-based rule of WAF, whose minimum is 10. */
const rateLimit = (meaning: string, example: number) =>
  setting(meaning, v.pipe(v.number(), v.integer(), v.minValue(10)), {
    unit: 'per five minutes',
    example,
  });

const hash = matching(
  /^[0-9a-f]{64}$/,
  'must be a SHA-256 hash: 64 hexadecimal digits in lower case',
);

export const edge = v.optional(
  setting(
    'An [edge](edge.md) in front of the API: CloudFront with limits per IP ' +
      'address by WAF. Functions then reject every other request. Requires `domain`.',
    v.pipe(
      v.strictObject({
        hostName: hostName('The host name that clients use.', 'api.example.com'),
        certificate: certificate('The certificate for `edge.hostName`, in us-east-1.', EDGE_REGION),
        secret: setting(
          'The name of the secret in us-east-1 that the edge sends to the functions.',
          matching(/^[\w/+=.@-]{1,512}$/, 'must be the name of a secret in Secrets Manager'),
          { example: 'gatehouse-prod-edge' },
        ),
        secretHashes: setting(
          'The SHA-256 hashes of the secrets that functions accept. A second one is needed only ' +
            'while [the secret is replaced](edge.md#replacing-the-secret).',
          v.pipe(distinct('hash', hash), v.maxLength(2)),
          { example: ['1284255d34234c9439f7b664e2b1a86fca2561c9ca9163fcd1b15e365cb7201e'] },
        ),
        requestsPerSource: rateLimit(
          'The requests of one IP address; beyond it, the edge responds with 429.',
          2000,
        ),
        loginsPerSource: rateLimit(
          'The requests of one IP address to log in; the same for those to request a reset, to ' +
            'finish one and to confirm an address (`strictThrottle`).',
          100,
        ),
      }),
      v.check(
        ({ loginsPerSource, requestsPerSource }) => loginsPerSource <= requestsPerSource,
        'loginsPerSource must not exceed requestsPerSource: each of these is a request',
      ),
    ),
  ),
);
