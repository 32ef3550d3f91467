import { Stack } from 'aws-cdk-lib';
import { CfnQueryDefinition } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';

interface Logs {
  readonly access: string;
  readonly functions: readonly string[];
  readonly mail: string;
  /** Of the daily verification. */
  readonly verification: string | undefined;
  readonly hasEdge: boolean;
}

/** A query of log groups: its name, the groups, and its commands in order. */
type Query = readonly [name: string, logGroups: readonly string[], ...commands: string[]];

/** Saves the Logs Insights query of each section of docs/runbook.md under the name of its alarm. */
export class Queries extends Construct {
  constructor(scope: Construct, id: string, logs: Logs) {
    super(scope, id);
    const queries = [
      ...aboutResponses(logs),
      ...aboutSlowness(logs),
      ...aboutMail(logs),
      ...aboutClients(logs),
      ...aboutKeys(logs),
      aboutOneRequest(logs),
      ...aboutVerification(logs),
    ];
    for (const [name, logGroups, ...commands] of queries)
      new CfnQueryDefinition(this, name, {
        // Slashes make folders in the console.
        name: `${Stack.of(this).stackName}/${name}`,
        logGroupNames: [...logGroups],
        queryString: commands.join('\n| '),
      });
  }
}

const aboutResponses = ({ access, functions }: Logs): Query[] => [
  [
    'server-errors',
    [access],
    'fields @timestamp, route, status, integrationError, requestId, functionRequestId',
    'filter status like /^5/',
    'sort @timestamp desc',
  ],
  [
    'defects',
    functions,
    'filter ispresent(defect)',
    'stats count(*) as times, latest(requestId) as lastRequest by defect, code, at',
    'sort times desc',
  ],
  [
    'failed-invocations',
    [access],
    'fields @timestamp, route, status, integrationError, functionRequestId',
    'filter status like /^5/ and integrationError != "-"',
    'sort @timestamp desc',
  ],
  [
    'unavailable',
    functions,
    'filter failure = "unavailable"',
    'stats count(*) as times, max(retries) as mostRetries, max(milliseconds) as longest ' +
      'by route, bin(5m)',
  ],
  [
    'throttled',
    [access],
    'filter (status = "429" and integrationStatus = "-") or status = "503"',
    'stats count(*) as times by route, status, sourceIp',
    'sort times desc',
  ],
];

const aboutSlowness = ({ functions }: Logs): Query[] => [
  [
    'slow-logins',
    functions,
    'filter kind = "login"',
    'stats count(*) as times, pct(milliseconds, 50) as p50, pct(milliseconds, 99) as p99 ' +
      'by bin(5m)',
  ],
  [
    'slow-changes',
    functions,
    'filter kind = "change"',
    'stats count(*) as times, pct(milliseconds, 99) as p99, max(retries) as mostRetries by route',
    'sort p99 desc',
  ],
];

const aboutMail = ({ mail }: Logs): Query[] => [
  [
    'mail-not-sent',
    [mail],
    'filter ispresent(mailNotSent)',
    'fields @timestamp, mailNotSent, code, awsStatus, awsRequestId, at',
    'sort @timestamp desc',
  ],
  [
    'mail-delayed',
    [mail],
    'filter ispresent(mailDelayed) or @message like /Task timed out/',
    'stats count(*) as times, latest(@timestamp) as last by mailDelayed, code, awsStatus',
    'sort times desc',
  ],
];

/** Behind an edge, only the functions know the addresses of clients. */
const aboutClients = ({ access, functions, hasEdge }: Logs): Query[] =>
  hasEdge
    ? [
        [
          'too-many-attempts',
          functions,
          'filter failure = "too-many-attempts"',
          'stats count(*) as times by clientAddress, route',
          'sort times desc',
        ],
        [
          'not-from-edge',
          [access],
          'filter status = "403"',
          'stats count(*) as times by sourceIp, route',
          'sort times desc',
        ],
      ]
    : [
        [
          'too-many-attempts',
          [access],
          'filter status = "429" and integrationStatus != "-"',
          'stats count(*) as times by sourceIp, route',
          'sort times desc',
        ],
      ];

const aboutKeys = ({ functions }: Logs): Query[] => [
  [
    'key-states',
    functions,
    'filter ispresent(defect) and defect like ' +
      '/^(Disabled|KMSInvalidState|KeyUnavailable|NotFound|AccessDenied)/',
    'stats count(*) as times, latest(@timestamp) as last by defect, at',
  ],
];

const aboutOneRequest = ({ access, functions }: Logs): Query => [
  'request',
  [access, ...functions],
  'filter requestId = "ID"',
  'sort @timestamp asc',
];

const aboutVerification = ({ verification }: Logs): Query[] =>
  verification === undefined
    ? []
    : [
        [
          'table-not-intact',
          [verification],
          'filter ispresent(findings)',
          'fields @timestamp, @message',
          'sort @timestamp desc',
        ],
        [
          'verification-missing',
          [verification],
          'fields @timestamp, @message',
          'sort @timestamp desc',
        ],
      ];
