import type { Template } from 'aws-cdk-lib/assertions';
import { INSTANCE_REQUESTS_PER_SECOND } from '../../../infra/settings/limits.ts';
import { MODULE_TOKEN_SECONDS } from '../../../lib/tokens/token.ts';
import { BUDGETS } from './call-budgets.ts';
import { digits, table } from './generated-tables.ts';
import { COMMON_DOLLARS, PRICES, type RequestCost, requestCost, TRAFFIC } from './request-costs.ts';

/* The generated tables of docs/cost.md and docs/performance.md. */

const SECONDS_PER_MONTH = 730 * 3600;
const RATES = [10, 1000, 100_000];
/** In a month: a hundred on each of 22 working days. */
const REQUESTS_PER_USER = 2200;

const dollars = (value: number): string =>
  value === 0 ? '' : `$${value >= 100 ? digits(value) : value.toFixed(2)}`;
const total = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0);

export const priceTable = (): string =>
  table(
    ['for each', 'US dollars', 'source'],
    Object.values(PRICES).map(({ dollars, per, page }) => [
      per,
      String(dollars),
      `[page](${page})`,
    ]),
  );

export const fixedCostTable = (template: Template): string => monthlyCosts(fixedCosts(template));

function fixedCosts(template: Template): readonly FixedCost[] {
  const all = (type: string) => Object.values(template.findResources(type));
  const keys = all('AWS::KMS::Key');
  const rotated = keys.filter(({ Properties }) => Properties.EnableKeyRotation).length;
  const alarms = all('AWS::CloudWatch::Alarm').map(({ Properties }) => metricsOf(Properties));
  const custom = new Set(
    alarms
      .flat()
      .flatMap((metric) => (metric.Namespace.startsWith('AWS/') ? [] : [JSON.stringify(metric)])),
  );
  const dashboards = all('AWS::CloudWatch::Dashboard').length;
  return [
    ['KMS keys', keys.length, PRICES.key.dollars],
    [
      'KMS keys that rotate: from the third year, two older versions each',
      2 * rotated,
      PRICES.key.dollars,
      'later',
    ],
    ['metrics of alarms', alarms.flat().length, PRICES.alarm.dollars],
    ['custom metrics that alarms use', custom.size, PRICES.metric.dollars, 'later'],
    ['dashboards', dashboards, PRICES.dashboard.dollars],
  ];
}

type FixedCost = readonly [name: string, count: number, price: number, since?: 'later'];

/** A table of monthly costs, of which an environment without traffic has some only later. */
function monthlyCosts(rows: readonly FixedCost[]): string {
  const sum = (costs: readonly FixedCost[]) =>
    `$${total(costs.map(([, count, price]) => count * price)).toFixed(2)}`;
  const atFirst = rows.filter(([, , , since]) => !since);
  return table(
    ['', 'number', 'each', 'a month at first, idle', 'a month later, in use'],
    [
      ...rows.map((row) => {
        const [name, count, price, since] = row;
        return [name, String(count), dollars(price), since ? '' : sum([row]), sum([row])];
      }),
      ['total', '', '', sum(atFirst), sum(rows)],
    ],
  );
}

/** Counted in the template of the edge, with the alarm on it and its secret. */
export function edgeTable(edge: Template): string {
  const webAcls = Object.values(edge.findResources('AWS::WAFv2::WebACL'));
  const alarmMetrics = Object.values(edge.findResources('AWS::CloudWatch::Alarm')).flatMap(
    ({ Properties }) => metricsOf(Properties),
  );
  const rules = webAcls.flatMap(({ Properties }) => Properties.Rules as unknown[]);
  return monthlyCosts([
    ['web ACLs', webAcls.length, PRICES.webAcl.dollars],
    ['rules', rules.length, PRICES.webAclRule.dollars],
    ['secrets', 1, PRICES.secret.dollars],
    // The stack of the API has one more, of a metric from the log.
    ['metrics of alarms', 1 + alarmMetrics.length, PRICES.alarm.dollars],
    ['custom metrics that alarms use', 1, PRICES.metric.dollars, 'later'],
  ]);
}

export function edgeRequestTable(): string {
  const { edgeRequest, edgeFunction, webAclRequest } = PRICES;
  const parts = [edgeRequest, edgeFunction, webAclRequest].map((price) => price.dollars);
  return table(
    ['CloudFront', 'CloudFront Function', 'WAF', 'total'],
    [[...parts, total(parts)].map(dollars)],
  );
}

interface Metric {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: unknown;
}

/** The metrics that an alarm evaluates; each of them is billed. */
function metricsOf(alarm: {
  Namespace?: string;
  MetricName?: string;
  Dimensions?: unknown;
  Metrics?: { MetricStat?: { Metric: Metric } }[];
}): Metric[] {
  const { Namespace, MetricName, Dimensions, Metrics = [] } = alarm;
  if (Namespace && MetricName) return [{ Namespace, MetricName, Dimensions }];
  return Metrics.flatMap(({ MetricStat }) => (MetricStat ? [MetricStat.Metric] : []));
}

export function requestCosts(template: Template): Map<string, RequestCost> {
  const functions = Object.values(template.findResources('AWS::Lambda::Function'));
  const memory = new Map(
    functions.map(({ Properties }) => [Properties.Description, Properties.MemorySize as number]),
  );
  return new Map(
    [...BUDGETS].map(([route, budget]) => {
      const megabytes = memory.get(route.replace(/ with .*/, ''));
      if (megabytes === undefined) throw new Error(`The template has no function for ${route}`);
      return [route, requestCost(route, budget, megabytes)];
    }),
  );
}

/** What the module of an integration costs in a month of polls, by the seconds between two. */
export function moduleTable(costs: ReadonlyMap<string, RequestCost>): string {
  const cost = moduleCosts(costs);
  const row = (seconds: number): string[] => [
    String(seconds),
    digits(SECONDS_PER_MONTH / seconds),
    dollars(cost(seconds)),
  ];
  return table(['seconds between polls', 'polls a month', 'a month'], [30, 60, 300].map(row));
}

/** The dollars of a module in a month, by the seconds between two polls. */
function moduleCosts(costs: ReadonlyMap<string, RequestCost>): (seconds: number) => number {
  const of = (route: string): RequestCost => costs.get(route) as RequestCost;
  const { megabytes } = of('GET /api/utm-integrations/{id}/module');
  // One read, and no call to KMS.
  const unchanged = requestCost(
    'GET /api/utm-integrations/{id}/module',
    { roundTrips: 1, reads: 1, writes: 0, calls: { GetItem: 1 } },
    megabytes,
  );
  const exchanges = SECONDS_PER_MONTH / MODULE_TOKEN_SECONDS;
  const hourly = (SECONDS_PER_MONTH / 3600) * PRICES.write.dollars;
  const others = exchanges * of('POST /api/oauth2/token').total + hourly;
  return (seconds) => ((SECONDS_PER_MONTH / seconds) * unchanged.total + others) / 1e6;
}

/** What small installations cost in a month: without traffic, their users and their modules. */
export function smallTable(costs: ReadonlyMap<string, RequestCost>, template: Template): string {
  const fixed = total(fixedCosts(template).map(([, count, price]) => count * price));
  const request = mean(costs, (cost) => cost.total) / 1e6;
  const module = moduleCosts(costs)(60);
  return table(
    ['users', 'modules', 'fixed', 'cost of users', 'cost of modules', 'total'],
    [
      [20, 5],
      [200, 50],
      [1000, 200],
    ].map(([users = 0, modules = 0]) => {
      const parts = [fixed, users * REQUESTS_PER_USER * request, modules * module];
      return [...[users, modules].map(String), ...[...parts, total(parts)].map(dollars)];
    }),
  );
}

export function visitTable(fileSizes: readonly number[]): string {
  const { gateway, invocation, logs } = COMMON_DOLLARS;
  const cents = (requests: number, bytes: number): number =>
    ((requests * (gateway + invocation + logs) + (bytes / 1000) * PRICES.transfer.dollars) * 100) /
    1000;
  const row = (name: string, requests: number, bytes: number) => [
    name,
    String(requests),
    (bytes / 1000).toFixed(0),
    cents(requests, bytes).toFixed(1),
  ];
  return table(
    ['a visit', 'requests', 'KB', 'cents per thousand'],
    [
      row('the first one of a browser after a deployment', fileSizes.length, total(fileSizes)),
      row('each later one, which only revalidates the page', 1, 1000),
    ],
  );
}

export const commonTable = (): string =>
  table(
    ['API Gateway', 'invocation', 'logs', 'response', 'total'],
    [[...Object.values(COMMON_DOLLARS), total(Object.values(COMMON_DOLLARS))].map(dollars)],
  );

export const requestTable = (costs: ReadonlyMap<string, RequestCost>): string =>
  table(
    [
      'dollars per million requests',
      'ms × MB',
      'duration',
      'reads + writes',
      'table',
      'keys',
      'mail',
      'total',
    ],
    [...costs].map(([route, { milliseconds, megabytes, reads, writes, dollars: parts, total }]) => [
      route,
      `${milliseconds.toLocaleString('en')} × ${megabytes}`,
      dollars(parts.duration),
      `${reads} + ${writes}`,
      dollars(parts.table),
      dollars(parts.keys),
      dollars(parts.mail),
      dollars(total),
    ]),
  );

const mean = (
  costs: ReadonlyMap<string, RequestCost>,
  value: (cost: RequestCost) => number,
): number =>
  total(
    Object.entries(TRAFFIC).map(([route, share]) => share * value(costs.get(route) as RequestCost)),
  );

export const trafficTable = (): string =>
  table(
    ['route', 'share'],
    Object.entries(TRAFFIC).map(([route, share]) => [route, `${Math.round(100 * share)} %`]),
  );

export const monthlyTable = (costs: ReadonlyMap<string, RequestCost>): string => {
  const perMillion = mean(costs, (cost) => cost.total);
  return table(
    ['requests per second', 'million requests a month', 'dollars a month'],
    RATES.map((rate) => {
      const millions = (rate * SECONDS_PER_MONTH) / 1e6;
      return [
        rate.toLocaleString('en'),
        digits(millions),
        `$${Math.round(millions * perMillion).toLocaleString('en')}`,
      ];
    }),
  );
};

/** For how long a request occupies an execution, or keeps others from it. */
const executionSeconds = ({ milliseconds }: RequestCost): number =>
  Math.max(milliseconds / 1000, 1 / INSTANCE_REQUESTS_PER_SECOND);

/** What the example of traffic demands of the quotas at several rates. */
export const demandTable = (costs: ReadonlyMap<string, RequestCost>): string => {
  const changes = total(
    Object.keys(TRAFFIC).map((route) =>
      /^PUT |authenticate/.test(route) ? (TRAFFIC[route] ?? 0) : 0,
    ),
  );
  const rows: [string, number][] = [
    ['read units of the table', mean(costs, ({ reads }) => reads)],
    ['write units of the table', mean(costs, ({ writes }) => writes)],
    ['write units of the audit partition', 2 * changes],
    ['concurrent executions of functions', mean(costs, executionSeconds)],
    [
      'calls of KMS with symmetric and HMAC keys',
      mean(costs, ({ symmetricCalls }) => symmetricCalls),
    ],
    ['calls of KMS with the signing key', mean(costs, ({ signatures }) => signatures)],
  ];
  return table(
    ['per second', ...RATES.map((rate) => `${rate.toLocaleString('en')} requests`)],
    rows.map(([name, perRequest]) => [name, ...RATES.map((rate) => digits(rate * perRequest))]),
  );
};
