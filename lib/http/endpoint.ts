import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { authorize } from '../authorization/authorize.ts';
import type { Caller } from '../contract/caller.ts';
import type { BodyOf, Contract, PathOf, QueryOf } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { isOutage } from '../runtime/aws.ts';
import { coldStartEnded, limitColdStart } from '../runtime/cold-start.ts';
import { setDeadline } from '../runtime/deadline.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { openTable } from '../table/table.ts';
import type { Precondition } from '../table/version.ts';
import { openVerifier } from '../tokens/verify-token.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { parseBody } from './body.ts';
import { logDefect, logRequest } from './log-request.ts';
import { problem } from './problem.ts';
import { parseIfMatch, readParts } from './request.ts';
import type { Response } from './response.ts';

/** A request as a function sees it: checked, and with nothing in it that the contract does not name. */
export interface Request<C extends Contract> {
  /** Who asks; nobody where the contract is open. */
  readonly caller: C['access'] extends 'public' ? undefined : AuthorizedCaller;
  readonly path: PathOf<C>;
  readonly query: QueryOf<C>;
  readonly body: BodyOf<C>;
  /** Where it comes from, as API Gateway saw it: headers like X-Forwarded-For say what anyone likes. */
  readonly source: Source;
  /** The versions that If-Match names. */
  readonly precondition: Precondition;
  /** The path, for links to other pages. */
  readonly url: Pick<URL, 'pathname'>;
}

/** The event of API Gateway, and who sent it once that is known. */
type Event = APIGatewayProxyEventV2 & { caller?: Caller };
type Result = APIGatewayProxyStructuredResultV2;

/**
 * The Lambda handler of a row of the API. It refuses in this order: who is not signed in, a request of the wrong form,
 * who lacks a role by the token; then come the rules that `act` asks. Unless the contract says `open`, a token is demanded.
 */
export function endpoint<const C extends Contract>(contract: C, act: (request: Request<C>) => Promise<Response>) {
  const steps = middy<Event, Result>({ timeoutEarlyInMillis: 0 }).use(responding(contract));
  if (contract.access !== 'public') steps.use(authenticating());
  if (contract.body) steps.use(parseBody(contract));
  return steps.handler(async (event: Event) => {
    const { path, query, body } = readParts(contract, event);
    const url = { pathname: event.rawPath };
    const precondition = parseIfMatch(event.headers['if-match']);
    const { http, timeEpoch } = event.requestContext;
    const source: Source = { address: http.sourceIp, arrivedAt: timeEpoch };
    const caller = authorized(contract, event);
    const request = { caller, source, path, query, body, precondition, url } as Request<C>;
    // Together: the rule can read while the table confirms the access, and responds to nobody else.
    const [, response] = await settleAll([Promise.resolve(caller?.requireAuthorized()), act(request)]);
    return respond(response);
  });
}

/** Makes an answer of whatever happens, with the headers that all have, and one line in the log. */
function responding(contract: Contract): MiddlewareObj<Event, Result> {
  let started = 0;
  return {
    async before({ context }) {
      started = Date.now();
      setDeadline(context.getRemainingTimeInMillis());
      await coldStartEnded();
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

/** Lets in who carries a token of ours. */
function authenticating(): MiddlewareObj<Event, Result> {
  limitColdStart();
  const verifier = openVerifier(openTable());
  return {
    async before({ event }) {
      event.caller = await verifier.verify(event.headers.authorization);
    },
  };
}

/** The caller with the access that the contract requires; nobody where it is public. Fails with forbidden. */
function authorized({ access }: Contract, { caller }: Event): AuthorizedCaller | undefined {
  return caller && authorize(openTable(), caller, access);
}

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isOutage(error)) return new Failure('unavailable');
  // What the body parser says of broken JSON.
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
