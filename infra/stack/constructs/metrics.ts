import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { RequestKind } from '../../../lib/contract/contract.ts';
import type { FailureCode } from '../../../lib/contract/failure.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';

export const metricsNamespace = (environment: string): string => `Gatehouse/${environment}`;

/** The metric of requests that API Gateway throttled, which a filter of the access log counts. */
export const GATEWAY_THROTTLES = 'gatewayThrottles';

/**
 * The metric of invocations that ended without a response, which a filter of the access log counts.
 */
export const FAILED_INVOCATIONS = 'failedInvocations';

/** The rules of the edge in the order in which WAF applies them, each with a metric of its name. */
export const EDGE_RULES = ['logins', 'resets', 'requests'] as const;
export type EdgeRule = (typeof EDGE_RULES)[number];

interface Measured {
  readonly environment: string;
  readonly apiId: string;
  readonly tableName: string;
  readonly mailFunction: string;
}

export type Metrics = ReturnType<typeof metricsOf>;

/** The sum of a metric that AWS makes. */
const sum = (service: string, metricName: string, dimensionsMap: Record<string, string> = {}) =>
  new Metric({ namespace: `AWS/${service}`, metricName, statistic: Stats.SUM, dimensionsMap });

/** One line for each metric that the search finds. */
const search = (terms: string, statistic: string) =>
  new MathExpression({
    expression: `SEARCH('${terms}', '${statistic}')`,
    usingMetrics: {},
    label: '',
  });

export const metricsOf = ({ environment, apiId, tableName, mailFunction }: Measured) => ({
  ...metricsOfFunctions(environment, mailFunction),
  ...metricsOfTable(tableName),
  serverErrors: sum('ApiGateway', '5xx', { ApiId: apiId }),
  clientErrors: sum('ApiGateway', '4xx', { ApiId: apiId }),
  /** Calls with the keys, one line per key and operation. */
  keyUse: (keyIds: readonly string[]) =>
    keyIds.map((keyId) => search(`Namespace="AWS/KMS" ${keyId}`, 'Sum')),
  /** Of all senders in the account and region. */
  mail: ['Send', 'Bounce', 'Complaint', 'Reject'].map((name) => sum('SES', name)),
  /** The requests that each rule of the edge blocks. */
  edgeBlocks: EDGE_RULES.map((Rule) =>
    sum('WAFV2', 'BlockedRequests', { WebACL: edgeStackName(environment), Rule }).with({
      region: EDGE_REGION,
    }),
  ),
});

function metricsOfFunctions(environment: string, FunctionName: string) {
  const namespace = metricsNamespace(environment);
  const logged = (metricName: string, statistic: string, dimensionsMap = {}) =>
    new Metric({ namespace, metricName, statistic, dimensionsMap });
  return {
    /** Milliseconds; the number of samples is that of the requests. */
    duration: (kind: RequestKind, statistic: string) => logged('milliseconds', statistic, { kind }),
    rejections: (failure: FailureCode) => logged('milliseconds', Stats.SAMPLE_COUNT, { failure }),
    /** One line per failure code. */
    allRejections: search(`{"${namespace}",failure} MetricName="milliseconds"`, 'SampleCount'),
    retries: logged('retries', Stats.SUM),
    mailsNotSent: logged('mailsNotSent', Stats.SUM),
    /** Milliseconds that a mail has waited when the function receives it. */
    mailDelay: sum('Lambda', 'IteratorAge', { FunctionName }).with({ statistic: Stats.MAXIMUM }),
    findings: logged('findings', Stats.MAXIMUM),
    verifications: logged('findings', Stats.SAMPLE_COUNT),
    /** Has one value a day. */
    oldestPendingRestart: new MathExpression({
      expression: 'seconds / 3600',
      usingMetrics: { seconds: logged('oldestPendingRestartSeconds', Stats.MAXIMUM) },
      label: 'hours',
      period: Duration.days(1),
    }),
    failedInvocations: logged(FAILED_INVOCATIONS, Stats.SUM),
    gatewayThrottles: logged(GATEWAY_THROTTLES, Stats.SUM),
    /** Of all functions in the account, because they share its quota of concurrent executions. */
    functionThrottles: sum('Lambda', 'Throttles'),
  };
}

function metricsOfTable(TableName: string) {
  const ofTable = (metricName: string) => sum('DynamoDB', metricName, { TableName });
  const perSecond = (label: string, metricName: string): IMetric =>
    new MathExpression({
      expression: 'units / PERIOD(units)',
      usingMetrics: { units: ofTable(metricName) },
      label,
    });
  return {
    readThrottles: ofTable('ReadThrottleEvents'),
    writeThrottles: ofTable('WriteThrottleEvents'),
    conflicts: ofTable('TransactionConflict'),
    failedConditions: ofTable('ConditionalCheckFailedRequests'),
    readUnits: perSecond('read units', 'ConsumedReadCapacityUnits'),
    writeUnits: perSecond('write units', 'ConsumedWriteCapacityUnits'),
  };
}
