import * as v from 'valibot';
import { routes } from '../../routes.ts';
import { atMost, count, setting } from './setting.ts';

/* Limits on load, which bound the cost, and on password guessing. */

/**
 * What Lambda sends an instance in a second at most, however short the requests are: the limit of a
 * function, and of an account, is ten times its concurrency.
 * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
export const INSTANCE_REQUESTS_PER_SECOND = 10;

/* AWS raises the quotas below on request, so settings may be ten times the defaults. */

const units = (kind: string) =>
  v.pipe(
    count(
      'units per second',
      `The maximum of ${kind} request units; beyond it, DynamoDB throttles. The default quota of ` +
        'a table is 40,000.',
    ),
    atMost(400_000, 'ten times the default quota of a table'),
  );

/** The command of the AWS CLI that gives an adopted table its maximum, which no stack does. */
export const updateMaximum = (
  table: string,
  { readUnits, writeUnits }: { readonly readUnits: number; readonly writeUnits: number },
): string =>
  `dynamodb update-table --table-name ${table} --on-demand-throughput ` +
  `MaxReadRequestUnits=${readUnits},MaxWriteRequestUnits=${writeUnits}`;

/**
 * The limits of API Gateway for each route, and for each with `strictThrottle`. 1,000 logins a
 * second are what 100 instances answer at most. A burst lasts two seconds.
 */
export const throttleOf = ({
  requestsPerSecond: rate,
}: {
  readonly requestsPerSecond: number;
}) => ({
  all: { rate, burst: 2 * rate },
  login: { rate: 2 * rate, burst: 4 * rate },
});

const RESERVING_FUNCTIONS = routes.filter(({ strictThrottle }) => strictThrottle).length;

/** What Lambda keeps unreserved for all other functions. */
export const UNRESERVED_MIN = 100;

/** The concurrent executions that an environment takes away from all other functions. */
export const reservedConcurrency = (loginConcurrency = 0): number =>
  RESERVING_FUNCTIONS * loginConcurrency;

/** The default quota. AWS gives new accounts less, reportedly 10, with which any burst fails. */
export const CONCURRENCY_QUOTA = 1000;

/** What functions without a reservation share: as stated, or what is left of the default quota. */
export const sharedExecutions = ({
  unreservedConcurrency: stated,
  loginConcurrency,
}: {
  readonly unreservedConcurrency?: number | undefined;
  readonly loginConcurrency?: number | undefined;
}): number =>
  stated ?? Math.max(UNRESERVED_MIN, CONCURRENCY_QUOTA - reservedConcurrency(loginConcurrency));

export const limitSettings = {
  tableMaximum: v.optional(
    setting(
      'The maximum throughput of the on-demand table, which bounds its cost. [An adopted ' +
        'table](restore.md#adopting-a-table-and-keys) keeps its own.',
      v.strictObject({
        readUnits: v.optional(units('read'), 12_000),
        writeUnits: v.optional(units('write'), 4000),
      }),
    ),
    {},
  ),
  requestsPerSecond: v.optional(
    v.pipe(
      count(
        'requests per second',
        'The sustained rate of [each route](performance.md#throttles), twice as much for log-ins ' +
          'and resets; beyond it and its burst, API Gateway responds with 429.',
      ),
      atMost(50_000, 'five times the default quota of an account'),
    ),
    500,
  ),
  loginConcurrency: v.optional(
    v.pipe(
      count(
        'instances',
        'The reserved concurrency of each of the four functions of log-ins and resets, which ' +
          'serve up to ten requests a second per instance. It counts against the quota of the ' +
          'account, of which 100 must remain unreserved. If it is not set, the quota is the limit.',
      ),
      atMost(2500, 'with which four functions take ten times the default quota of an account'),
    ),
  ),
  unreservedConcurrency: v.optional(
    count(
      'executions',
      'What the functions without reserved concurrency of all stacks share in the account and ' +
        'region: the alarm [concurrency](runbook.md#concurrency) begins at four fifths of it. ' +
        '`npm run admin -- preflight` compares it with AWS. If it is not set, 1,000 less four ' +
        'times `loginConcurrency`.',
    ),
  ),
  failuresPerSource: v.optional(
    count(
      'per 15 minutes',
      'Wrong passwords of one source address, across all accounts. [The login ' +
        'throttle](performance.md#the-login-throttle) allows it as many requests for resets, and ' +
        'ten times as many log-ins; beyond them, the service responds with 429.',
    ),
    100,
  ),
};
