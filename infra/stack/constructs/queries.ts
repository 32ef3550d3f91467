import { Stack } from 'aws-cdk-lib';
import { CfnQueryDefinition } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';

/** The names of log groups; a query can have 50. */
interface Logs {
  readonly access: string;
  readonly functions: string;
  readonly mail: string;
  readonly audit: string;
  readonly verification: string | undefined;
  readonly issuerKeys: string | undefined;
  readonly hasEdge: boolean;
  readonly hasEmergencyAccount: boolean;
}

/** Log groups, and the commands of a query on them. */
type Query = readonly [readonly string[], ...string[]];

/** Saves the Logs Insights queries of docs/runbook.md, many under the names of alarms. */
export class Queries extends Construct {
  constructor(scope: Construct, id: string, logs: Logs) {
    super(scope, id);
    const queries = {
      ...ofService(logs),
      ...ofQuestions(logs),
      ...ofClients(logs),
      ...ofAudit(logs),
      ...ofVerification(logs),
      ...ofIssuerKeys(logs),
      ...ofEmergencies(logs),
    };
    for (const [name, [logGroups, ...commands]] of Object.entries(queries))
      new CfnQueryDefinition(this, name, {
        // Slashes make folders in the console.
        name: `${Stack.of(this).stackName}/${name}`,
        logGroupNames: [...logGroups],
        queryString: commands.join('\n| '),
      });
  }
}

const BY_TIME = 'sort @timestamp desc';
const BY_TIMES = 'sort times desc';

const ofService = ({ access, functions, mail }: Logs): Record<string, Query> => ({
  'server-errors': [
    [access],
    'fields @timestamp, route, status, integrationError, requestId, functionRequestId',
    'filter status like /^5/',
    BY_TIME,
  ],
  defects: [
    [functions],
    'filter ispresent(defect)',
    'stats count(*) as times, latest(requestId) as lastRequest by defect, code, version, at',
    BY_TIMES,
  ],
  'failed-invocations': [
    [access, functions],
    'filter (status like /^5/ and integrationError != "-") or ' +
      '@message like /Task timed out|Runtime exited|Status: (error|timeout)/',
    // The access log does not have the version, unlike the names of the streams of functions:
    // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-loggroups.html
    'parse @logStream "[*]" as ofVersion',
    'fields @timestamp, route, status, integrationError, functionRequestId, ofVersion, @message',
    BY_TIME,
  ],
  unavailable: [
    [functions],
    'filter ispresent(outage)',
    'stats count(*) as times, latest(requestId) as lastRequest ' +
      'by outage, code, service, operation, reasons, route',
    BY_TIMES,
  ],
  throttled: [
    [access],
    'filter (status = "429" and integrationStatus = "-") or status = "503"',
    'stats count(*) as times by route, status, sourceIp',
    BY_TIMES,
  ],
  'slow-logins': [
    [functions],
    'filter kind = "login" or (route = "POST /api/oauth2/token" and ispresent(failure))',
    'stats count(*) as times, pct(milliseconds, 50) as p50, pct(milliseconds, 99) as p99 ' +
      'by bin(5m)',
  ],
  'slow-changes': [
    [functions],
    'filter kind = "change"',
    'stats count(*) as times, pct(milliseconds, 99) as p99, max(retries) as mostRetries by route',
    'sort p99 desc',
  ],
  'mail-not-sent': [
    [mail],
    'filter ispresent(mailNotSent)',
    'fields @timestamp, mailNotSent, code, awsStatus, awsRequestId, at',
    BY_TIME,
  ],
  'mail-delayed': [
    [mail],
    'filter ispresent(mailDelayed) or @message like /Task timed out/',
    'stats count(*) as times, latest(@timestamp) as last by mailDelayed, code, awsStatus',
    BY_TIMES,
  ],
  'key-states': [
    [functions],
    'filter ispresent(defect) and defect like ' +
      '/^(Disabled|KMSInvalidState|KeyUnavailable|NotFound|AccessDenied)/',
    'stats count(*) as times, latest(@timestamp) as last by defect, at',
  ],
});

/** Those that answer questions without an alarm. */
const ofQuestions = ({ access, functions }: Logs): Record<string, Query> => ({
  request: [[access, functions], 'filter requestId = "ID"', 'sort @timestamp asc'],
  logins: [
    [functions],
    'filter kind = "login" or (route = "POST /api/oauth2/token" and (ispresent(callerId) or ' +
      'failure in ["invalid-grant", "unknown-identity", "provider-without-factor", ' +
      '"too-many-attempts"]))',
    'fields @timestamp, status, failure, reason, callerId, loginPseudonym, clientAddress, requestId',
    BY_TIME,
  ],
  'rejected-callers': [
    [functions],
    'filter status = 401 or status = 403',
    'stats count(*) as times, latest(requestId) as lastRequest by route, failure, callerId',
    BY_TIMES,
  ],
});

/** Behind an edge, only the functions know the addresses of clients. */
function ofClients({ access, functions, hasEdge }: Logs): Record<string, Query> {
  const by = (address: string) => `stats count(*) as times by ${address}, route`;
  if (!hasEdge) {
    const rejected = 'filter status = "429" and integrationStatus != "-"';
    // Also those that were asked for a code: the access log has no failures.
    const wrong = 'filter route = "POST /api/authenticate" and status = "401"';
    return {
      'too-many-attempts': [[access], rejected, by('sourceIp'), BY_TIMES],
      'bad-credentials': [[access], wrong, by('sourceIp'), BY_TIMES],
    };
  }
  const having = (failure: string): Query => [
    [functions],
    `filter failure = "${failure}"`,
    by('clientAddress'),
    BY_TIMES,
  ];
  return {
    'too-many-attempts': having('too-many-attempts'),
    'bad-credentials': having('bad-credentials'),
    'not-from-edge': [[access], 'filter status = "403"', by('sourceIp'), BY_TIMES],
  };
}

function ofAudit({ audit }: Logs): Record<string, Query> {
  const delayed = 'filter ispresent(auditDelayed) or @message like /Task timed out/';
  return {
    'audit-delayed': [
      [audit],
      delayed,
      'stats count(*) as times, latest(@timestamp) as last by auditDelayed, code, awsStatus',
      BY_TIMES,
    ],
  };
}

function ofVerification({ verification }: Logs): Record<string, Query> {
  if (verification === undefined) return {};
  const lines = ['fields @timestamp, @message', BY_TIME];
  return {
    'table-not-intact': [[verification], 'filter ispresent(findings)', ...lines],
    modules: [[verification], 'filter modulesToWatch > 0', ...lines],
    'verification-missing': [[verification], ...lines],
  };
}

const ofIssuerKeys = ({ issuerKeys }: Logs): Record<string, Query> =>
  issuerKeys
    ? {
        'issuer-keys': [
          [issuerKeys],
          'filter ispresent(keysNotFetched)',
          'stats count(*) as times, latest(@timestamp) as last by issuer, keysNotFetched, code',
          BY_TIMES,
        ],
      }
    : {};

const ofEmergencies = ({ functions, audit, hasEmergencyAccount }: Logs): Record<string, Query> =>
  hasEmergencyAccount
    ? {
        'emergency-account': [
          [functions, audit],
          'filter ispresent(emergency)',
          'fields @timestamp, emergency',
          BY_TIME,
        ],
      }
    : {};
