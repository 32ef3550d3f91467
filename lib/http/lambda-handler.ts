import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { BodyOf, Contract, PathOf, QueryOf } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import type { ModuleCaller } from '../modules/module-caller.ts';
import { finishColdStart, resetRetries, setDeadline } from '../runtime/execution-environment.ts';
import { isOutage } from '../runtime/outage.ts';
import type { Precondition } from '../table/write.ts';
import type { Caller } from '../users/caller.ts';
import { parseBody, SCIM_TYPE } from './body.ts';
import { preconditionOf, respondConditionally } from './conditional.ts';
import { logDefect, logOutage, logRequest } from './log-request.ts';
import { rejectionOf } from './rejection.ts';
import { type Event, openEdge, readPath, readQueryAndBody } from './request.ts';
import type { Response } from './response.ts';

/** A validated request, which contains only what the contract declares. */
export interface Request<C extends Contract> {
  readonly path: PathOf<C>;
  readonly query: QueryOf<C>;
  readonly body: BodyOf<C>;
  /**
   * As seen by API Gateway or the edge. Headers such as X-Forwarded-For are ignored: clients can
   * forge them.
   */
  readonly source: Source;
  /** What If-Match and If-None-Match require of the entity to change. */
  readonly precondition: Precondition;
  /** The path, for links to other pages. */
  readonly pathname: string;
  readonly acceptEncoding: string | undefined;
  /** What a module runs, as it states with every poll. */
  readonly running: string | undefined;
  readonly authorization: string | undefined;
}

type Result = APIGatewayProxyStructuredResultV2;

/** The steps that differ between kinds of endpoints. */
interface Steps<C extends Contract> {
  /**
   * Runs before anything but the headers is read. Fails with cross-site. Absent where a token is
   * required.
   */
  readonly requireAllowed?: (event: Event) => void;
  /** Runs before anything of the request is read. Absent where no token is required. */
  readonly authenticate?: (authorization: string | undefined) => Promise<Caller | ModuleCaller>;
  /**
   * `readRequest` fails with not-found if the path names no resource; query and body are already
   * valid.
   */
  readonly respondTo: (
    readRequest: () => Request<C>,
    caller: Caller | ModuleCaller | undefined,
    source: string,
  ) => Promise<Response>;
}

/**
 * The Lambda handler of a contract. Call it through `endpoint` or `moduleEndpoint`, which enforce
 * the access of the contract, or `publicEndpoint`.
 */
export function lambdaHandler<C extends Contract>(
  contract: C,
  { requireAllowed, authenticate, respondTo }: Steps<C>,
) {
  const pipeline = middy<Event, Result>({ timeoutEarlyInMillis: 0 }).use(respondAndLog(contract));
  const clientAddressAtEdge = openEdge();
  if (clientAddressAtEdge) {
    pipeline.before(({ event }) => {
      event.clientAddress = clientAddressAtEdge(event.headers);
    });
  }
  if (requireAllowed) {
    pipeline.before(({ event }) => {
      requireAllowed(event);
    });
  }
  if (authenticate) {
    pipeline.before(async ({ event }) => {
      event.caller = await authenticate(event.headers.authorization);
    });
  }
  if (contract.body) pipeline.use(parseBody(contract));
  return pipeline.handler(async (event: Event) => {
    const { query, body } = readQueryAndBody(contract, event);
    const precondition = preconditionOf(event.headers);
    const { http, timeEpoch } = event.requestContext;
    const source: Source = {
      address: event.clientAddress ?? http.sourceIp,
      arrivedAt: timeEpoch,
      userAgent: event.headers['user-agent'],
    };
    const readRequest = () =>
      ({
        path: readPath(contract, event),
        query,
        body,
        source,
        precondition,
        pathname: event.rawPath,
        acceptEncoding: event.headers['accept-encoding'],
        running: event.headers['gatehouse-running'],
        authorization: event.headers.authorization,
      }) as Request<C>;
    const response = await respondTo(readRequest, event.caller, source.address);
    event.callerId = response.callerId;
    event.clientId = response.clientId;
    return respond(contract, respondConditionally(event, response));
  });
}

/** Sets the deadline, turns errors into responses, and logs each request as one line. */
function respondAndLog(contract: Contract): MiddlewareObj<Event, Result> {
  let started = 0;
  return {
    async before({ context }) {
      started = Date.now();
      setDeadline(context.getRemainingTimeInMillis());
      resetRetries();
      await finishColdStart();
    },
    after({ event, response }) {
      logRequest(contract, event, (response as Result).statusCode, Date.now() - started);
    },
    onError(request) {
      const { event, error } = request;
      const failure = failureOf(error);
      const isDefect = failure.code === 'unexpected';
      if (isDefect) logDefect(event, error);
      if (failure.code === 'unavailable') logOutage(event, failure.cause);
      const requestId = isDefect ? event.requestContext.requestId : undefined;
      const response = rejectionOf(contract, failure, event.rawPath, requestId);
      request.response = respond(contract, response);
      logRequest(contract, event, request.response.statusCode, Date.now() - started, failure);
    },
  };
}

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isOutage(error)) return new Failure('unavailable', { cause: error });
  return new Failure('unexpected');
}

export const COMMON_HEADERS = {
  // API Gateway adds CORS headers only for an allowed origin. Without this, a cache would serve
  // that origin a response without them.
  Vary: 'Origin',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

function respond({ scim }: Contract, { status, headers, body, isBase64Encoded }: Response): Result {
  const type = scim ? SCIM_TYPE : 'application/json';
  return {
    statusCode: status,
    headers: {
      ...COMMON_HEADERS,
      ...(body !== undefined && { 'Content-Type': `${type}; charset=utf-8` }),
      ...headers,
    },
    body: body ?? '',
    ...(isBase64Encoded && { isBase64Encoded }),
  };
}
