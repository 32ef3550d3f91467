import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { RequestKind } from '../../../lib/contract/contract.ts';
import type { FailureCode } from '../../../lib/contract/failure.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';

/** The CloudWatch namespace of the metrics that the functions log. */
export const metricsNamespace = (environment: string): string => `Gatehouse/${environment}`;

/** The rules of the edge in the order in which WAF applies them, each with a metric of its name. */
export const EDGE_RULES = ['logins', 'resets', 'requests'] as const;

export type Metrics = ReturnType<typeof metricsOf>;

const sum = (service: string, metricName: string, dimensionsMap: Record<string, string> = {}) =>
  new Metric({ namespace: `AWS/${service}`, metricName, statistic: Stats.SUM, dimensionsMap });

const reputation = (rate: string) =>
  new Metric({
    namespace: 'AWS/SES',
    metricName: `Reputation.${rate}`,
    statistic: Stats.AVERAGE,
  });

/** One line for each metric that the search finds. */
const search = (terms: string, statistic: string) =>
  new MathExpression({
    expression: `SEARCH('${terms}', '${statistic}')`,
    usingMetrics: {},
    label: '',
  });

/** The metrics that alarms and dashboard of an environment share. */
export function metricsOf(of: {
  readonly environment: string;
  readonly apiId: string;
  readonly tableName: string;
  readonly mailFunction: string;
  readonly auditFunction: string;
}) {
  const namespace = metricsNamespace(of.environment);
  const logged = (metricName: string, statistic: string = Stats.SUM, dimensionsMap = {}) =>
    new Metric({ namespace, metricName, statistic, dimensionsMap });
  const ofTable = (metricName: string) => sum('DynamoDB', metricName, { TableName: of.tableName });
  const delayOf = (FunctionName: string) =>
    sum('Lambda', 'IteratorAge', { FunctionName }).with({ statistic: Stats.MAXIMUM });
  const perSecond = (label: string, metricName: string) =>
    new MathExpression({
      expression: 'units / PERIOD(units)',
      usingMetrics: { units: ofTable(metricName) },
      label,
    });
  return {
    /** Milliseconds; the number of samples is the number of requests. */
    duration: (kind: RequestKind, statistic: string) => logged('milliseconds', statistic, { kind }),
    rejections: (failure: FailureCode) => logged('milliseconds', Stats.SAMPLE_COUNT, { failure }),
    /** One line per failure code. */
    allRejections: search(`{"${namespace}",failure} MetricName="milliseconds"`, 'SampleCount'),
    retries: logged('retries'),
    mailsNotSent: logged('mailsNotSent'),
    mailsUnreachable: logged('mailsUnreachable'),
    /** How often keys of an issuer could not be fetched that are an hour old or missing. */
    missingKeys: logged('missingKeys'),
    /** How often the emergency account was armed or used. */
    emergencies: logged('emergencies'),
    /** Milliseconds that a mail has waited when the function receives it. */
    mailDelay: delayOf(of.mailFunction),
    /** Milliseconds that an entry to log, or a use of an API token, has waited. */
    auditDelay: delayOf(of.auditFunction),
    findings: logged('findings', Stats.MAXIMUM),
    verifications: logged('findings', Stats.SAMPLE_COUNT),
    /** Has one value a day. */
    oldestPendingRestart: new MathExpression({
      expression: 'seconds / 3600',
      usingMetrics: { seconds: logged('oldestPendingRestartSeconds', Stats.MAXIMUM) },
      label: 'hours',
      period: Duration.days(1),
    }),
    /** Has one value a day. */
    modulesToWatch: logged('modulesToWatch', Stats.MAXIMUM),
    failedInvocations: logged('failedInvocations'),
    gatewayThrottles: logged('gatewayThrottles'),
    /** Of all functions in the account, because they share its quota of concurrent executions. */
    functionThrottles: sum('Lambda', 'Throttles'),
    /** What all functions without reserved concurrency use of the same quota. */
    unreservedExecutions: sum('Lambda', 'UnreservedConcurrentExecutions').with({
      statistic: Stats.MAXIMUM,
    }),
    readThrottles: ofTable('ReadThrottleEvents'),
    writeThrottles: ofTable('WriteThrottleEvents'),
    conflicts: ofTable('TransactionConflict'),
    failedConditions: ofTable('ConditionalCheckFailedRequests'),
    readUnits: perSecond('read units', 'ConsumedReadCapacityUnits'),
    writeUnits: perSecond('write units', 'ConsumedWriteCapacityUnits'),
    serverErrors: sum('ApiGateway', '5xx', { ApiId: of.apiId }),
    clientErrors: sum('ApiGateway', '4xx', { ApiId: of.apiId }),
    /** One line per operation. */
    keyUse: (keyId: string) => search(`Namespace="AWS/KMS" ${keyId}`, 'Sum'),
    /** Of all senders in the account and region. */
    mail: ['Send', 'Bounce', 'Complaint', 'Reject'].map((name) => sum('SES', name)),
    /** Between 0 and 1, of all senders in the account and region. */
    bounceRate: reputation('BounceRate'),
    complaintRate: reputation('ComplaintRate'),
    edgeBlocks: EDGE_RULES.map((Rule) =>
      sum('WAFV2', 'BlockedRequests', { WebACL: edgeStackName(of.environment), Rule }).with({
        region: EDGE_REGION,
      }),
    ),
  };
}
