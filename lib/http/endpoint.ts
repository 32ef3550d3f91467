import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { authorize } from '../authorization/authorize.ts';
import type { Caller } from '../contract/caller.ts';
import type { BodyOf, Contract, PathOf, QueryOf } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { isOutage } from '../runtime/aws.ts';
import { finishColdStart, limitColdStart } from '../runtime/cold-start.ts';
import { setDeadline } from '../runtime/deadline.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { openTable, type Table } from '../table/table.ts';
import type { Precondition } from '../table/version.ts';
import { openVerifier } from '../tokens/verify-token.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { parseBody } from './body.ts';
import { logDefect, logRequest } from './log-request.ts';
import { problem } from './problem.ts';
import { parseIfMatch, readPath, readQueryAndBody } from './request.ts';
import type { Response } from './response.ts';

/** A validated request, which contains only what the contract declares. */
export interface Request<C extends Contract> {
  readonly caller: C['access'] extends 'public' ? undefined : AuthorizedCaller;
  readonly path: PathOf<C>;
  readonly query: QueryOf<C>;
  readonly body: BodyOf<C>;
  /** As seen by API Gateway. Headers such as X-Forwarded-For are ignored because clients can forge them. */
  readonly source: Source;
  /** The versions in If-Match. */
  readonly precondition: Precondition;
  /** The path, for links to other pages. */
  readonly pathname: string;
}

/** The API Gateway event, with its caller once authenticated. */
type Event = APIGatewayProxyEventV2 & { caller?: Caller };
type Result = APIGatewayProxyStructuredResultV2;

/**
 * The Lambda handler of one row of routes.ts. It requires a token unless the contract's access is public. Requests are
 * rejected in this order: unauthenticated callers, invalid requests, callers without a required role, requests that
 * `handle` rejects.
 */
export function endpoint<const C extends Contract>(contract: C, handle: (request: Request<C>) => Promise<Response>) {
  const pipeline = middy<Event, Result>({ timeoutEarlyInMillis: 0 }).use(respondAndLog(contract));
  const table = contract.access === 'public' ? undefined : openTable();
  if (table) pipeline.use(authenticate(table));
  if (contract.body) pipeline.use(parseBody(contract));
  return pipeline.handler(async (event: Event) => {
    const { query, body } = readQueryAndBody(contract, event);
    const precondition = parseIfMatch(event.headers['if-match']);
    const { http, timeEpoch } = event.requestContext;
    const source: Source = { address: http.sourceIp, arrivedAt: timeEpoch };
    const caller = table && event.caller && authorize(table, event.caller, contract.access);
    // Inside the promise: `settleAll` reports the 403 of the table before the 404 of an invalid path, and `authorize`
    // has already checked roles from the token.
    const handled = async () => {
      const path = readPath(contract, event);
      return handle({ caller, source, path, query, body, precondition, pathname: event.rawPath } as Request<C>);
    };
    // Run in parallel: `handle` reads while the table confirms the access. Without access, its response is discarded.
    const [, response] = await settleAll([Promise.resolve(caller?.requireAuthorized()), handled()]);
    return respond(response);
  });
}

/** Sets the deadline, turns errors into responses, and logs each request as one line. */
function respondAndLog(contract: Contract): MiddlewareObj<Event, Result> {
  let started = 0;
  return {
    async before({ context }) {
      started = Date.now();
      setDeadline(context.getRemainingTimeInMillis());
      await finishColdStart();
    },
    after({ event, response }) {
      logRequest(event, response?.statusCode, Date.now() - started);
    },
    onError(request) {
      const { event, error } = request;
      const failure = failureOf(error);
      const isDefect = failure.code === 'unexpected';
      if (isDefect) logDefect(event, error);
      const requestId = isDefect ? event.requestContext.requestId : undefined;
      request.response = respond(problem(failure, contract.entityName, event.rawPath, requestId));
      logRequest(event, request.response.statusCode, Date.now() - started, failure.code);
    },
  };
}

/** Verifies the caller's token. Fails with unauthorized. */
function authenticate(table: Table): MiddlewareObj<Event, Result> {
  limitColdStart();
  const verifier = openVerifier(table);
  return {
    async before({ event }) {
      event.caller = await verifier.verify(event.headers.authorization);
    },
  };
}

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isOutage(error)) return new Failure('unavailable');
  // The body parser's status for invalid JSON.
  if ((error as { statusCode?: number } | null)?.statusCode === 422) return new Failure('malformed');
  return new Failure('unexpected');
}

const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

function respond({ status, headers, body }: Response): Result {
  return {
    statusCode: status,
    headers: {
      ...COMMON_HEADERS,
      ...(body !== undefined && { 'Content-Type': 'application/json; charset=utf-8' }),
      ...headers,
    },
    body: body === undefined ? '' : JSON.stringify(body),
  };
}
