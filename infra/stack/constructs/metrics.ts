import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { RequestKind } from '../../../lib/contract/contract.ts';
import type { FailureCode } from '../../../lib/contract/failure.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';

/** The CloudWatch namespace of the metrics that the functions log. */
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

/** The metrics that alarms and dashboard of an environment share. */
export const metricsOf = ({ environment, apiId, tableName, mailFunction }: Measured) => ({
  ...metricsOfFunctions(environment, mailFunction),
  ...metricsOfApi(apiId),
  ...metricsOfTable(tableName),
  ...metricsOfKeysAndMail,
  /** The requests that each rule of the edge blocks. */
  edgeBlocks: EDGE_RULES.map(
    (Rule) =>
      new Metric({
        namespace: 'AWS/WAFV2',
        metricName: 'BlockedRequests',
        statistic: Stats.SUM,
        dimensionsMap: { WebACL: edgeStackName(environment), Rule },
        region: EDGE_REGION,
      }),
  ),
});

/** The metrics of Lambda, and those that the functions and the filters of the access log make. */
function metricsOfFunctions(environment: string, mailFunction: string) {
  const namespace = metricsNamespace(environment);
  const logged = (
    metricName: string,
    statistic: string,
    dimensionsMap: Record<string, string> = {},
  ) => new Metric({ namespace, metricName, statistic, dimensionsMap });
  return {
    /** Milliseconds; the number of samples is that of the requests. */
    duration: (kind: RequestKind, statistic: string) => logged('milliseconds', statistic, { kind }),
    rejections: (failure: FailureCode) => logged('milliseconds', Stats.SAMPLE_COUNT, { failure }),
    /** One line per failure code. */
    allRejections: new MathExpression({
      expression: `SEARCH('{"${namespace}",failure} MetricName="milliseconds"', 'SampleCount')`,
      usingMetrics: {},
      label: '',
    }),
    retries: logged('retries', Stats.SUM),
    mailsNotSent: logged('mailsNotSent', Stats.SUM),
    /** Milliseconds that a mail has waited when the function receives it. */
    mailDelay: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'IteratorAge',
      statistic: Stats.MAXIMUM,
      dimensionsMap: { FunctionName: mailFunction },
    }),
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
    functionThrottles: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'Throttles',
      statistic: Stats.SUM,
    }),
  };
}

function metricsOfApi(ApiId: string) {
  const sum = (metricName: string) =>
    new Metric({
      namespace: 'AWS/ApiGateway',
      metricName,
      statistic: Stats.SUM,
      dimensionsMap: { ApiId },
    });
  return { serverErrors: sum('5xx'), clientErrors: sum('4xx') };
}

function metricsOfTable(TableName: string) {
  const sum = (metricName: string) =>
    new Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      statistic: Stats.SUM,
      dimensionsMap: { TableName },
    });
  /** The units per second that the table consumed. */
  const consumed = (label: string, metricName: string): IMetric =>
    new MathExpression({
      expression: 'units / PERIOD(units)',
      usingMetrics: { units: sum(metricName) },
      label,
    });
  return {
    readThrottles: sum('ReadThrottleEvents'),
    writeThrottles: sum('WriteThrottleEvents'),
    conflicts: sum('TransactionConflict'),
    failedConditions: sum('ConditionalCheckFailedRequests'),
    readUnits: consumed('read units', 'ConsumedReadCapacityUnits'),
    writeUnits: consumed('write units', 'ConsumedWriteCapacityUnits'),
  };
}

const metricsOfKeysAndMail = {
  /** Calls with the keys, one line per key and operation. */
  keyUse: (keyIds: readonly string[]) =>
    keyIds.map(
      (keyId) =>
        new MathExpression({
          expression: `SEARCH('Namespace="AWS/KMS" ${keyId}', 'Sum')`,
          usingMetrics: {},
          label: '',
        }),
    ),
  /** Of all senders in the account and region. */
  mail: (metricName: 'Send' | 'Bounce' | 'Complaint' | 'Reject') =>
    new Metric({ namespace: 'AWS/SES', metricName, statistic: Stats.SUM }),
};
