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

/** Saves the Logs Insights query of each section of docs/runbook.md under the name of its alarm. */
export class Queries extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { access, functions, mail, verification, hasEdge }: Logs,
  ) {
    super(scope, id);
    const save = (name: string, logGroupNames: readonly string[], ...commands: string[]) =>
      new CfnQueryDefinition(this, name, {
        // Slashes make folders in the console.
        name: `${Stack.of(this).stackName}/${name}`,
        logGroupNames: [...logGroupNames],
        queryString: commands.join('\n| '),
      });

    save(
      'server-errors',
      [access],
      'fields @timestamp, route, status, integrationError, requestId, functionRequestId',
      'filter status like /^5/',
      'sort @timestamp desc',
    );
    save(
      'defects',
      functions,
      'filter ispresent(defect)',
      'stats count(*) as times, latest(requestId) as lastRequest by defect, code, at',
      'sort times desc',
    );
    save(
      'failed-invocations',
      [access],
      'fields @timestamp, route, status, integrationError, functionRequestId',
      'filter status like /^5/ and integrationError != "-"',
      'sort @timestamp desc',
    );
    save(
      'unavailable',
      functions,
      'filter failure = "unavailable"',
      'stats count(*) as times, max(retries) as mostRetries, max(milliseconds) as longest by route, bin(5m)',
    );
    save(
      'throttled',
      [access],
      'filter (status = "429" and integrationStatus = "-") or status = "503"',
      'stats count(*) as times by route, status, sourceIp',
      'sort times desc',
    );
    save(
      'slow-logins',
      functions,
      'filter kind = "login"',
      'stats count(*) as times, pct(milliseconds, 50) as p50, pct(milliseconds, 99) as p99 by bin(5m)',
    );
    save(
      'slow-changes',
      functions,
      'filter kind = "change"',
      'stats count(*) as times, pct(milliseconds, 99) as p99, max(retries) as mostRetries by route',
      'sort p99 desc',
    );
    save(
      'mail-not-sent',
      [mail],
      'filter ispresent(mailNotSent)',
      'fields @timestamp, mailNotSent, code, awsStatus, awsRequestId, at',
      'sort @timestamp desc',
    );
    save(
      'mail-delayed',
      [mail],
      'filter ispresent(mailDelayed) or @message like /Task timed out/',
      'stats count(*) as times, latest(@timestamp) as last by mailDelayed, code, awsStatus',
      'sort times desc',
    );
    // Behind an edge, only the functions know the addresses of clients.
    save(
      'too-many-attempts',
      hasEdge ? functions : [access],
      hasEdge
        ? 'filter failure = "too-many-attempts"'
        : 'filter status = "429" and integrationStatus != "-"',
      `stats count(*) as times by ${hasEdge ? 'clientAddress' : 'sourceIp'}, route`,
      'sort times desc',
    );
    if (hasEdge) {
      save(
        'not-from-edge',
        [access],
        'filter status = "403"',
        'stats count(*) as times by sourceIp, route',
        'sort times desc',
      );
    }
    save(
      'key-states',
      functions,
      'filter ispresent(defect) and defect like /^(Disabled|KMSInvalidState|KeyUnavailable|NotFound|AccessDenied)/',
      'stats count(*) as times, latest(@timestamp) as last by defect, at',
    );
    save('request', [access, ...functions], 'filter requestId = "ID"', 'sort @timestamp asc');
    if (!verification) return;
    save(
      'table-not-intact',
      [verification],
      'filter ispresent(findings)',
      'fields @timestamp, @message',
      'sort @timestamp desc',
    );
    save(
      'verification-missing',
      [verification],
      'fields @timestamp, @message',
      'sort @timestamp desc',
    );
  }
}
