import { MAIL_PARTITIONS } from '../../../lib/operations/item-kinds.ts';
import { routes } from '../../../routes.ts';
import type { Budget } from './call-budgets.ts';

interface Price {
  readonly dollars: number;
  readonly per: string;
  readonly page: string;
}

const price = (dollars: number, per: string, page: string): Price => ({ dollars, per, page });
const GATEWAY = 'https://aws.amazon.com/api-gateway/pricing/';
const LAMBDA = 'https://aws.amazon.com/lambda/pricing/';
const DYNAMODB = 'https://aws.amazon.com/dynamodb/pricing/on-demand/';
const KMS = 'https://aws.amazon.com/kms/pricing/';
const WAF = 'https://aws.amazon.com/waf/pricing/';
const CLOUDFRONT = 'https://aws.amazon.com/cloudfront/pricing/pay-as-you-go/';
const CLOUDWATCH = 'https://aws.amazon.com/cloudwatch/pricing/';

/** eu-central-1, first tier, without taxes and free tiers. docs/cost.md says how to check. */
export const PRICES = {
  gatewayRequest: price(1.2, 'million requests to the HTTP API, of up to 512 KB', GATEWAY),
  functionRequest: price(0.2, 'million invocations', LAMBDA),
  functionDuration: price(0.0000133334, 'GB-second on arm64', LAMBDA),
  read: price(0.1525, 'million read request units', DYNAMODB),
  write: price(0.7625, 'million write request units', DYNAMODB),
  tableStorage: price(0.306, 'GB of the table and month', DYNAMODB),
  recoveryStorage: price(0.2448, 'GB of the table and month, for point-in-time recovery', DYNAMODB),
  key: price(1, 'key and month', KMS),
  symmetricCall: price(3, 'million calls with a symmetric or HMAC key', KMS),
  signature: price(15, 'million calls with an elliptic-curve key', KMS),
  mail: price(100, 'million mails', 'https://aws.amazon.com/ses/pricing/'),
  logIngestion: price(0.63, 'GB of logs', CLOUDWATCH),
  logStorage: price(0.0324, 'GB of compressed logs and month', CLOUDWATCH),
  alarm: price(0.1, 'metric of an alarm and month', CLOUDWATCH),
  metric: price(0.3, 'custom metric and month', CLOUDWATCH),
  dashboard: price(3, 'dashboard and month', CLOUDWATCH),
  transfer: price(0.09, 'GB to the internet', 'https://aws.amazon.com/ec2/pricing/on-demand/'),
  webAcl: price(5, 'web ACL and month', WAF),
  webAclRule: price(1, 'rule of a web ACL and month', WAF),
  webAclRequest: price(0.6, 'million requests that WAF inspects', WAF),
  edgeRequest: price(1.2, 'million HTTPS requests to CloudFront in Europe', CLOUDFRONT),
  edgeFunction: price(0.1, 'million runs of a CloudFront Function', CLOUDFRONT),
  edgeTransfer: price(0.085, 'GB from CloudFront to the internet', CLOUDFRONT),
  secret: price(0.4, 'secret and month', 'https://aws.amazon.com/secrets-manager/pricing/'),
} as const satisfies Record<string, Price>;

/*
 * What a million requests of a route cost, from its budget and the prices. A deployed function was
 * not available: the assumptions stand in for what only AWS can measure.
 */

/** Of a call to DynamoDB, KMS or SES in the region: AWS promises single-digit milliseconds. */
const ROUND_TRIP_MS = 8;
/** Of a warm function for each call and each hash, rounded; a hash takes a call of GenerateMac. */
const CPU_MS = { call: 0.5, hash: 40 };
/** Lambda allocates one vCPU at this memory, and with less memory proportionally less. */
const MB_PER_CPU = 1769;
/**
 * Lambda's three lines per request (about 380 bytes), one of the function (180), one of the gateway
 * (310), overhead.
 */
const LOG_BYTES = 1000;
/** A response with its headers: most are a single entity. */
const RESPONSE_BYTES = 2000;
/**
 * The routes that cause a mail. PUT /api/users does so only for a new address, and a login only
 * after a wrong code, which their budgets do not contain either.
 */
const RARELY_MAILING = new Set<string>(['PUT /api/users', 'POST /api/authenticate']);
const MAILING = new Set<string>(
  routes
    .filter(({ permissions: { put = [] } }) =>
      MAIL_PARTITIONS.some((partition) => put.includes(partition)),
    )
    .map(({ route }) => route)
    .filter((route) => !RARELY_MAILING.has(route)),
);
/** What the function that sends mail does for one mail with a key. */
const DELIVERY = { reads: 7, writes: 8, gigabyteSeconds: 0.5 * 0.15 };
const MAIL_DOLLARS =
  PRICES.mail.dollars +
  PRICES.functionRequest.dollars +
  DELIVERY.reads * PRICES.read.dollars +
  DELIVERY.writes * PRICES.write.dollars +
  DELIVERY.gigabyteSeconds * 1e6 * PRICES.functionDuration.dollars;

/** Dollars per million requests, by what they are for, and the quantities behind them. */
export interface RequestCost {
  readonly reads: number;
  readonly writes: number;
  readonly milliseconds: number;
  readonly megabytes: number;
  readonly symmetricCalls: number;
  readonly signatures: number;
  readonly dollars: Readonly<Record<'common' | 'duration' | 'table' | 'keys' | 'mail', number>>;
  readonly total: number;
}

/** What every request costs, whatever its route, in dollars per million. */
export const COMMON_DOLLARS = {
  gateway: PRICES.gatewayRequest.dollars,
  invocation: PRICES.functionRequest.dollars,
  logs: (LOG_BYTES / 1000) * PRICES.logIngestion.dollars,
  transfer: (RESPONSE_BYTES / 1000) * PRICES.transfer.dollars,
};

/** The cost of a request with this budget to a route whose function has this memory. */
export function requestCost(
  route: string,
  { roundTrips, reads, writes, calls }: Budget,
  megabytes: number,
): RequestCost {
  const cpuMs = sum(Object.values(calls)) * CPU_MS.call + (calls.GenerateMac ?? 0) * CPU_MS.hash;
  const busyMs = Math.ceil((cpuMs * MB_PER_CPU) / megabytes + roundTrips * ROUND_TRIP_MS);
  const milliseconds = Math.max(busyMs, 1);
  const symmetricCalls =
    (calls.GenerateMac ?? 0) + (calls.Decrypt ?? 0) + (calls.GenerateDataKey ?? 0);
  const [signatures, mails] = [calls.Sign ?? 0, MAILING.has(route) ? 1 : 0];
  const dollars = {
    common: sum(Object.values(COMMON_DOLLARS)),
    duration: milliseconds * 1000 * (megabytes / 1024) * PRICES.functionDuration.dollars,
    table: reads * PRICES.read.dollars + writes * PRICES.write.dollars,
    keys: symmetricCalls * PRICES.symmetricCall.dollars + signatures * PRICES.signature.dollars,
    mail: mails * MAIL_DOLLARS,
  };
  const total = sum(Object.values(dollars));
  return {
    reads,
    writes,
    milliseconds,
    megabytes,
    symmetricCalls,
    signatures,
    dollars,
    total,
  };
}

/** An example of traffic, as shares of all requests: 90 % reads, 5 % changes and 5 % logins. */
export const TRAFFIC: Readonly<Record<string, number>> = {
  'GET /api/account': 0.2,
  'GET /api/users': 0.15,
  'GET /api/users/{login}': 0.15,
  'GET /api/utm-integrations': 0.15,
  'GET /api/utm-integrations/{id}': 0.15,
  'GET /api/utm-integration-confs': 0.1,
  'PUT /api/users': 0.02,
  'PUT /api/utm-integration-confs': 0.03,
  'POST /api/authenticate': 0.05,
};

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);
