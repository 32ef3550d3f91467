import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import * as v from 'valibot';
import { TRANSPORTS } from './transport.ts';

const REGIONS = new Set(RegionInfo.regions.map(({ name }) => name));

const positiveInteger = v.pipe(v.number(), v.integer(), v.minValue(1));

/** A whole number of something. */
const count = (unit: string, description: string) =>
  v.pipe(positiveInteger, v.description(description), v.metadata({ unit }));

const throttleLimits = (requests: string) =>
  v.strictObject({
    rate: v.pipe(
      v.number(),
      v.minValue(1),
      v.description(`The sustained rate of ${requests}; beyond it, API Gateway responds with 429.`),
      v.metadata({ unit: 'requests per second' }),
    ),
    burst: count('requests', 'How many requests may arrive at once before the rate applies.'),
  });

const subject = v.pipe(
  v.string(),
  v.description('The subject of the mail; it may contain `{login}`.'),
);
const template = v.strictObject({
  subject,
  text: v.pipe(
    v.string(),
    v.includes('{link}'),
    v.description('The text of the mail; `{link}` becomes the link and `{login}` the login.'),
  ),
});
const notice = v.strictObject({
  subject,
  text: v.pipe(
    v.string(),
    v.excludes('{link}'),
    v.description(
      'The text of the mail; `{login}` becomes the login. It asks for no action, so it has no link.',
    ),
  ),
});
const language = v.pipe(
  v.strictObject({
    reset: v.pipe(template, v.description('Sent to a user who has forgotten the password.')),
    invitation: v.pipe(
      template,
      v.description('Sent to a user who was created without a password.'),
    ),
    passwordChanged: v.pipe(notice, v.description('Sent after every change of a password.')),
    emailChanged: v.pipe(
      notice,
      v.description('Sent to the former address after a change of the address.'),
    ),
  }),
  v.description('The texts in one language.'),
);
const templates = v.pipe(
  v.record(v.string(), language),
  v.check((languages) => Object.hasOwn(languages, 'en'), 'must contain English (en)'),
  v.description(
    'The texts of all mails by language; English is the fallback for all other languages.',
  ),
);

/**
 * Lambda accepts 4,096 bytes for the environment of a function, and measures its JSON text. The
 * other variables need up to 620 in the function that sends mail, and to 1,280 in those of public
 * endpoints.
 */
const MAX_MAIL_BYTES = 3450;
const MAX_ORIGINS_BYTES = 2800;

interface OriginSettings {
  readonly corsOrigins: readonly string[];
  readonly edge?: { readonly hostName: string } | undefined;
}

const originsBytes = ({ corsOrigins, edge }: OriginSettings): number =>
  Buffer.byteLength(corsOrigins.join() + (edge?.hostName ?? ''));

const DEPLOYMENTS = v.picklist(['all-at-once', 'canary']);

const isTopicOrAddress = (recipient: string): boolean =>
  /^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/.test(recipient) ||
  v.is(v.pipe(v.string(), v.email()), recipient);

/** The logical ids of keys of one kind. */
const logicalIds = (name: string) =>
  v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.regex(
          new RegExp(`^${name}[A-Za-z0-9]*$`),
          `must be ${name}, which letters and digits may follow`,
        ),
      ),
    ),
    v.minLength(1),
    v.check((keys) => new Set(keys).size === keys.length, 'Each key must be listed only once'),
  );

const existingTableAndKeys = v.strictObject({
  table: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[\w.-]{3,255}$/, 'must be the name of a DynamoDB table'),
      v.description('The name of the table, which `npm run adopt` has prepared.'),
      v.metadata({ example: 'Gatehouse-prod-restored' }),
    ),
  ),
  tableStream: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^arn:[\w-]+:dynamodb:[\w-]+:\d{12}:table\/[\w.-]+\/stream\/[\w:.-]+$/,
        'must be the ARN of a stream',
      ),
      v.description(
        'The ARN of the stream of the table, which `npm run adopt` prints. Required with `table`.',
      ),
      v.metadata({
        example:
          'arn:aws:dynamodb:eu-central-1:123456789012:table/Gatehouse-prod-restored/stream/2030-01-01T00:00:00.000',
      }),
    ),
  ),
  keys: v.optional(
    v.pipe(
      v.record(
        v.string(),
        v.pipe(
          v.string(),
          v.regex(
            /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/,
            'must be the ARN of a KMS key, not of an alias',
          ),
          v.description('The ARN of the key with this logical id.'),
        ),
      ),
      v.description(
        'The ARNs of keys by their logical ids: `TableKey`, `ValuesKey` and the keys in `pepperKeys` and `signingKeys`.',
      ),
      v.metadata({
        key: 'KEY',
        example: {
          ValuesKey:
            'arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab',
        },
      }),
    ),
  ),
});

interface KeySettings {
  readonly pepperKeys: readonly string[];
  readonly signingKeys: readonly string[];
  readonly existing?: { readonly keys?: object | undefined } | undefined;
}

/** The logical ids in `existing.keys` that no key has. */
function unknownKeys({
  pepperKeys,
  signingKeys,
  existing: { keys = {} } = {},
}: KeySettings): string[] {
  const known = ['TableKey', 'ValuesKey', ...pepperKeys, ...signingKeys];
  return Object.keys(keys).filter((id) => !known.includes(id));
}

/** The region of everything that belongs to CloudFront. */
export const EDGE_REGION = 'us-east-1';

/** The stack of the edge, whose web ACL has a metric of the same name. */
export const edgeStackName = (environment: string): string => `GatehouseEdge-${environment}`;

const hostName = (description: string, example: string) =>
  v.pipe(
    v.string(),
    v.regex(
      /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
      'must be a host name in lower case',
    ),
    v.description(description),
    v.metadata({ example }),
  );

const certificate = (description: string, region: string) =>
  v.pipe(
    v.string(),
    v.regex(
      /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
      'must be the ARN of a certificate in ACM',
    ),
    v.description(description),
    v.metadata({
      example: `arn:aws:acm:${region}:123456789012:certificate/12345678-1234-1234-1234-123456789012`,
    }),
  );

/** A limit of a rate-based rule of WAF, whose minimum is 10. */
const rateLimit = (description: string, example: number) =>
  v.pipe(
    v.number(),
    v.integer(),
    v.minValue(10),
    v.description(description),
    v.metadata({ unit: 'per five minutes', example }),
  );

const edge = v.strictObject({
  hostName: hostName('The host name that clients use.', 'api.example.com'),
  certificate: certificate('The certificate for `edge.hostName`, in us-east-1.', EDGE_REGION),
  secret: v.pipe(
    v.string(),
    v.regex(/^[\w/+=.@-]{1,512}$/, 'must be the name of a secret in Secrets Manager'),
    v.description('The name of the secret in us-east-1 that the edge sends to the functions.'),
    v.metadata({ example: 'gatehouse-prod-edge' }),
  ),
  secretHashes: v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 hash: 64 hexadecimal digits in lower case'),
      ),
    ),
    v.minLength(1),
    v.maxLength(2),
    v.check(
      (hashes) => new Set(hashes).size === hashes.length,
      'Each hash must be listed only once',
    ),
    v.description(
      'The SHA-256 hashes of the secrets that functions accept. A second one is needed only while [the secret is replaced](edge.md#replacing-the-secret).',
    ),
    v.metadata({ example: ['1284255d34234c9439f7b664e2b1a86fca2561c9ca9163fcd1b15e365cb7201e'] }),
  ),
  requestsPerSource: rateLimit(
    'The requests of one IP address; beyond it, the edge responds with 429.',
    2000,
  ),
  loginsPerSource: rateLimit(
    'The requests of one IP address to log in, to request a reset and to finish a reset (`strictThrottle`).',
    100,
  ),
});

/** The schema of the settings of one environment; docs/settings.md is made from it. */
export const settings = v.pipe(
  v.strictObject({
    region: v.pipe(
      v.string(),
      // A region that is newer than the installed CDK requires an update of the CDK.
      v.check(
        (region) => REGIONS.has(region),
        'must be the name of an AWS region, such as eu-central-1',
      ),
      v.description(
        'Where the stack is deployed. Set here, so that a synthesis needs no AWS account.',
      ),
    ),
    keepData: v.pipe(
      v.boolean(),
      v.description(
        'Enables deletion protection and point-in-time recovery, and retains table, keys and logs when the stack is deleted. Placeholders such as example.com are then rejected in all settings.',
      ),
    ),
    unprotected: v.optional(
      v.pipe(
        v.boolean(),
        v.description(
          'With `keepData`: omits the protection of the stack and of its table against deletion, for [a first deployment](deploying.md#if-the-first-deployment-fails) or [the deletion of the environment](deleting.md). `-c unprotected=true` sets it for one deployment.',
        ),
        v.metadata({ example: true }),
      ),
    ),
    existing: v.optional(
      v.pipe(
        existingTableAndKeys,
        v.description(
          'The table and the keys that the stack [adopts](restore.md#adopting-a-table-and-keys); it creates all others. They must be in the account and the region of the stack.',
        ),
      ),
    ),
    logRetentionDays: v.pipe(
      v.picklist(Object.values(RetentionDays).filter((days) => typeof days === 'number')),
      v.description('The retention period of all log groups; 9999 keeps the logs forever.'),
      v.metadata({ unit: 'days' }),
    ),
    auditDays: v.pipe(
      count('days', 'The retention period of the audit trail.'),
      v.maxValue(
        3653,
        'must not exceed 3653, which is ten years: a list may query each month of the period',
      ),
    ),
    tableMaximum: v.pipe(
      v.strictObject({
        readUnits: count(
          'units per second',
          'The maximum of read request units; beyond it, DynamoDB throttles.',
        ),
        writeUnits: count(
          'units per second',
          'The maximum of write request units; beyond it, DynamoDB throttles.',
        ),
      }),
      v.description(
        'The maximum throughput of the on-demand table, which bounds its cost. [An adopted table](restore.md#adopting-a-table-and-keys) keeps its own.',
      ),
    ),
    throttle: v.pipe(
      v.strictObject({
        all: v.pipe(throttleLimits('a route'), v.description('The limits of each route.')),
        login: v.pipe(
          throttleLimits('the route'),
          v.description(
            'The limits of each route with `strictThrottle`: login, reset request and completion.',
          ),
        ),
      }),
      v.description('The limits of API Gateway, which bound the cost of a flood of requests.'),
    ),
    loginConcurrency: v.optional(
      v.pipe(
        positiveInteger,
        v.description(
          'The reserved concurrency of each of the three functions of `throttle.login`. It counts against the quota of the account, of which 100 must remain unreserved. If it is not set, the quota is the limit.',
        ),
        v.metadata({ unit: 'instances' }),
      ),
    ),
    guessing: v.pipe(
      v.strictObject({
        failuresPerSource: count(
          'per 15 minutes',
          'Wrong passwords of one source address, across all accounts.',
        ),
        requestsPerSource: count(
          'per 15 minutes',
          'Logins and changes of passwords of one source address, across all accounts.',
        ),
        resetsPerSource: count(
          'per 15 minutes',
          'Requests for a reset and completions of resets of one source address. A person needs two.',
        ),
      }),
      v.check(
        ({ failuresPerSource, requestsPerSource }) => failuresPerSource <= requestsPerSource,
        'failuresPerSource must not exceed requestsPerSource: each failure is a request',
      ),
      v.description('Limits on password guessing; beyond them, the service responds with 429.'),
    ),
    signingKeys: v.optional(
      v.pipe(
        logicalIds('SigningKey'),
        v.description(
          'The logical ids of the signing keys: the first signs, all are published. A second one is needed only while [the key is replaced](keys.md#replacing-the-signing-key).',
        ),
      ),
      ['SigningKey'],
    ),
    pepperKeys: v.optional(
      v.pipe(
        logicalIds('PepperKey'),
        // The ARNs of all are in one tag of the table, whose value may have 256 characters.
        v.maxLength(3, 'There can be three at most'),
        v.description(
          'The logical ids of the keys that protect password hashes: the first is used for new hashes, all verify. A second one is needed only while [the key is replaced](keys.md#replacing-the-pepper-key).',
        ),
      ),
      ['PepperKey'],
    ),
    tokenLife: v.pipe(
      v.strictObject({
        minutes: count('minutes', 'The lifetime of a token.'),
        rememberedMinutes: count(
          'minutes',
          'The lifetime of a token that was requested with `rememberMe`.',
        ),
      }),
      v.check(
        ({ minutes, rememberedMinutes }) => minutes <= rememberedMinutes,
        'minutes must not exceed rememberedMinutes: a token with a longer lifetime is rejected with 401',
      ),
      v.description('How long a login lasts.'),
    ),
    mail: v.pipe(
      v.strictObject({
        sender: v.pipe(
          v.string(),
          v.email(),
          v.description(
            'The sender of all mails. SES must have verified the address itself or its domain.',
          ),
        ),
        configurationSet: v.optional(
          v.pipe(
            v.string(),
            v.regex(
              /^[A-Za-z0-9_-]{1,64}$/,
              'must be 1 to 64 letters, digits, hyphens or underscores',
            ),
            v.description(
              'The SES configuration set to send with; required if the identity of the sender has a default configuration set.',
            ),
            v.metadata({ example: 'gatehouse-events' }),
          ),
        ),
        linkBase: v.pipe(
          v.string(),
          v.url(),
          v.description(
            'The URL of the page that sets a password; the reset key is appended to it.',
          ),
        ),
        resetsPerHour: v.optional(
          count(
            'mails',
            'The maximum number of reset mails to all users together. Further requests in that hour get no mail, so that they cannot use up what the account may send.',
          ),
          500,
        ),
        templates,
      }),
      v.check(
        // In the environment, the texts are JSON within JSON.
        (mail) => Buffer.byteLength(JSON.stringify(JSON.stringify(mail))) <= MAX_MAIL_BYTES,
        'All texts and the other settings of mail together must not exceed 3,450 bytes as JSON in a string: they are part of the environment of a function',
      ),
      v.description('How mails are sent; [Mail](mail.md) explains the conditions in AWS.'),
    ),
    corsOrigins: v.pipe(
      v.array(
        v.pipe(
          v.string(),
          v.check(
            // API Gateway takes https://* for every origin, and a URL may contain an asterisk.
            (origin) => URL.parse(origin)?.origin === origin && !origin.includes('*'),
            'must be a scheme and a host in lower case, without a path, a trailing slash, a default port or a wildcard, such as https://admin.example.com',
          ),
        ),
      ),
      v.description(
        'The origins whose pages may call the API. If the list is empty, browsers block all cross-origin calls; [a client on another origin](#a-client-on-another-origin) explains how to add one.',
      ),
      v.metadata({ example: ['https://admin.example.com'] }),
    ),
    domain: v.optional(
      v.pipe(
        v.strictObject({
          name: hostName(
            'The host name of the API; with `edge`, that of its origin.',
            'gatehouse.example.com',
          ),
          certificate: certificate(
            'The certificate for the host name, in the same region.',
            'eu-central-1',
          ),
        }),
        v.description(
          'A [host name of your own](deploying.md#a-host-name-of-your-own). The URL of API Gateway is then disabled. If it is not set, that URL is the only one.',
        ),
      ),
    ),
    edge: v.optional(
      v.pipe(
        edge,
        v.check(
          ({ loginsPerSource, requestsPerSource }) => loginsPerSource <= requestsPerSource,
          'loginsPerSource must not exceed requestsPerSource: each of these is a request',
        ),
        v.description(
          'An [edge](edge.md) in front of the API: CloudFront with limits per IP address by WAF. Functions then reject every other request. Requires `domain`.',
        ),
      ),
    ),
    dailyVerification: v.optional(
      v.pipe(
        v.boolean(),
        v.description(
          'Deploys a function that [verifies the table](verification.md#daily-verification) once a day. Without it, no function may scan the table.',
        ),
        v.metadata({ example: true }),
      ),
      false,
    ),
    alarms: v.optional(
      v.pipe(
        v.string(),
        v.check(isTopicOrAddress, 'must be the ARN of an SNS topic or an e-mail address'),
        v.description(
          'Who learns of the [alarms](runbook.md): the ARN of an SNS topic in the region of the environment, or an e-mail address, whose owner must confirm the subscription. Required with `keepData`; without it, there are no alarms.',
        ),
        v.metadata({ example: 'arn:aws:sns:eu-central-1:123456789012:operators' }),
      ),
    ),
    deployment: v.optional(
      v.pipe(
        DEPLOYMENTS,
        v.description(
          'How new versions of the functions get requests: all at once, or [a tenth of them for ten minutes](deploying-a-change.md#what-a-deployment-does) before the rest, with a rollback on alarms.',
        ),
      ),
      'all-at-once',
    ),
  }),
  v.forward(
    v.check(
      ({ keepData, alarms }) => !keepData || alarms !== undefined,
      'An environment that keeps its data requires a recipient of its alarms: the ARN of an SNS topic or an e-mail address',
    ),
    ['alarms'],
  ),
  v.forward(
    v.check(
      ({ region, alarms = '' }) => !alarms.startsWith('arn:') || alarms.split(':')[3] === region,
      'An alarm can only notify a topic in its own region, which is that of the environment',
    ),
    ['alarms'],
  ),
  v.forward(
    v.check(
      ({ deployment, alarms }) => deployment !== 'canary' || alarms !== undefined,
      'A canary requires alarms: they roll it back',
    ),
    ['deployment'],
  ),
  v.forward(
    v.check(
      ({ region, domain }) => !domain || domain.certificate.split(':')[3] === region,
      'API Gateway can only use a certificate in its own region, which is that of the environment',
    ),
    ['domain', 'certificate'],
  ),
  v.forward(
    v.check(
      ({ edge, domain }) => !edge || domain !== undefined,
      'requires domain: the edge reaches the API under a host name that does not change',
    ),
    ['edge'],
  ),
  v.forward(
    v.check(
      ({ edge, domain }) => !edge || edge.hostName !== domain?.name,
      'must differ from domain.name, under which the edge reaches the API',
    ),
    ['edge', 'hostName'],
  ),
  v.forward(
    v.check(
      ({ edge }) => !edge || edge.certificate.split(':')[3] === EDGE_REGION,
      `CloudFront can only use a certificate in ${EDGE_REGION}`,
    ),
    ['edge', 'certificate'],
  ),
  v.forward(
    v.check(
      (settings) => originsBytes(settings) <= MAX_ORIGINS_BYTES,
      'corsOrigins and edge.hostName together must not exceed 2,800 bytes: they are part of the environment of a function',
    ),
    ['corsOrigins'],
  ),
  v.forward(
    v.check(
      ({ keepData, mail }) => !keepData || mail.linkBase.startsWith('https://'),
      'With keepData, the page must be loaded over https: whoever reads the link can set the password',
    ),
    ['mail', 'linkBase'],
  ),
  v.forward(
    v.check(
      ({ keepData, corsOrigins }) =>
        !keepData || corsOrigins.every((origin) => origin.startsWith('https://')),
      'With keepData, all origins must be https: whoever alters a page can use the tokens of its users',
    ),
    ['corsOrigins'],
  ),
  v.forward(
    v.check(
      ({ keepData, existing: { table, keys = {} } = {} }) =>
        keepData || (!table && Object.keys(keys).length === 0),
      'requires keepData: without it, a table and keys that the stack no longer manages would be deleted',
    ),
    ['existing'],
  ),
  v.forward(
    v.check(
      ({ region, existing: { table, tableStream } = {} }) =>
        table === undefined
          ? tableStream === undefined
          : tableStream?.includes(`:dynamodb:${region}:`) === true &&
            tableStream.includes(`:table/${table}/stream/`),
      'must be the ARN of the stream of `existing.table`, in the region of the environment. Find it with aws dynamodb describe-table --table-name NAME --query Table.LatestStreamArn. If there is none, enable it with aws dynamodb update-table --table-name NAME --stream-specification StreamEnabled=true,StreamViewType=KEYS_ONLY',
    ),
    ['existing', 'tableStream'],
  ),
  v.forward(
    v.check(
      (settings) => unknownKeys(settings).length === 0,
      ({ input }) =>
        `There is no key ${unknownKeys(input).join(' or ')}: there are only TableKey, ValuesKey and the keys in pepperKeys and signingKeys`,
    ),
    ['existing', 'keys'],
  ),
  v.forward(
    v.check(
      ({ region, existing: { keys = {} } = {} }) =>
        Object.values(keys).every((arn) => arn.split(':')[3] === region),
      'A key must be in the region of the environment',
    ),
    ['existing', 'keys'],
  ),
);

/** The settings of one environment. */
export type Settings = v.InferOutput<typeof settings>;

/** The keys of the context in cdk.json. */
export const context = v.object({
  env: v.pipe(
    v.string(),
    v.description('The environment to synthesize or to deploy: a key of `environments`.'),
  ),
  transport: v.pipe(
    v.picklist(TRANSPORTS),
    v.description(
      'What functions call AWS with, in all environments: the transport of this project, or the AWS SDK ([ADR 11](adr/0011-minimal-transport.md)).',
    ),
  ),
  environments: v.pipe(
    v.record(v.string(), settings),
    v.description(
      'The settings of each environment by its name, which consists of letters, digits and hyphens.',
    ),
  ),
  mailTemplates: v.pipe(
    templates,
    v.description('The texts of all mails, for environments without `mail.templates`.'),
  ),
  allowPlaceholders: v.optional(
    v.pipe(
      v.picklist(['true', 'false']),
      v.description(
        'Whether placeholders are allowed with `keepData`: `npm run check` synthesizes `prod` with them. Never use it to deploy.',
      ),
    ),
    'false',
  ),
  unprotected: v.optional(
    v.pipe(
      v.boolean(),
      v.description('Overrides the setting `unprotected` of the environment, for one deployment.'),
    ),
  ),
  deployment: v.optional(
    v.pipe(
      DEPLOYMENTS,
      v.description('Overrides the setting `deployment` of the environment, for one deployment.'),
    ),
  ),
  checked: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        'Whether the template is checked against the AWS Solutions rules; `npm start` sets it to `false`.',
      ),
    ),
    true,
  ),
});
