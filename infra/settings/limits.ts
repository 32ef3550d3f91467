import * as v from 'valibot';
import { count, positiveInteger } from './numbers.ts';

/* Limits on load, which bound the cost, and on password guessing. */

export const tableMaximum = v.pipe(
  v.strictObject({
    readUnits: count(
      'units per second',
      'The maximum of read request units; beyond it, DynamoDB throttles.',
    ),
    writeUnits: count(
      'units per second',
      'The maximum of write request units; beyond it, DynamoDB throttles.',
    ),
  }),
  v.description(
    'The maximum throughput of the on-demand table, which bounds its cost. [An adopted ' +
      'table](restore.md#adopting-a-table-and-keys) keeps its own.',
  ),
);

const throttleLimits = (requests: string) =>
  v.strictObject({
    rate: v.pipe(
      v.number(),
      v.minValue(1),
      v.description(`The sustained rate of ${requests}; beyond it, API Gateway responds with 429.`),
      v.metadata({ unit: 'requests per second' }),
    ),
    burst: count('requests', 'How many requests may arrive at once before the rate applies.'),
  });

export const throttle = v.pipe(
  v.strictObject({
    all: v.pipe(throttleLimits('a route'), v.description('The limits of each route.')),
    login: v.pipe(
      throttleLimits('the route'),
      v.description(
        'The limits of each route with `strictThrottle`: login, reset request and completion.',
      ),
    ),
  }),
  v.description('The limits of API Gateway, which bound the cost of a flood of requests.'),
);

export const loginConcurrency = v.optional(
  v.pipe(
    positiveInteger,
    v.description(
      'The reserved concurrency of each of the three functions of `throttle.login`. It ' +
        'counts against the quota of the account, of which 100 must remain unreserved. If it ' +
        'is not set, the quota is the limit.',
    ),
    v.metadata({ unit: 'instances' }),
  ),
);

export const guessing = v.pipe(
  v.strictObject({
    failuresPerSource: count(
      'per 15 minutes',
      'Wrong passwords of one source address, across all accounts.',
    ),
    requestsPerSource: count(
      'per 15 minutes',
      'Logins and changes of passwords of one source address, across all accounts.',
    ),
    resetsPerSource: count(
      'per 15 minutes',
      'Requests for a reset and completions of resets of one source address. A person needs two.',
    ),
  }),
  v.check(
    ({ failuresPerSource, requestsPerSource }) => failuresPerSource <= requestsPerSource,
    'failuresPerSource must not exceed requestsPerSource: each failure is a request',
  ),
  v.description('Limits on password guessing; beyond them, the service responds with 429.'),
);
