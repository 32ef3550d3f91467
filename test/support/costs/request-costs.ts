import { MAIL_PARTITIONS } from '../../../lib/operations/item-kinds.ts';
import { routes } from '../../../routes.ts';
import type { Budget } from './call-budgets.ts';
import { PRICES } from './prices.ts';

/*
 * What a million requests of a route cost, from its budget and the prices. A deployed function was
 * not available: the assumptions stand in for what only AWS can measure.
 */

/**
 * Milliseconds of a call to DynamoDB, KMS or SES from Lambda in the same region: AWS promises
 * single-digit ones.
 */
const ROUND_TRIP_MS = 8;
/**
 * CPU milliseconds of a warm function for each call to AWS and for each password that it hashes,
 * rounded. Every hash takes a call to GenerateMac.
 */
const CPU_MS = { call: 0.5, hash: 40 };
/**
 * The memory at which Lambda allocates one vCPU; a function with less memory takes proportionally
 * longer.
 */
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
  readonly mails: number;
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
    mails,
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
