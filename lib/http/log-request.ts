import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Caller } from '../contract/caller.ts';
import { log, logError } from '../runtime/log.ts';

type Event = APIGatewayProxyEventV2 & { caller?: Caller };

/** Logs a request as one line, with its duration in milliseconds and its failure code. */
export function logRequest(event: Event, status: number | undefined, milliseconds: number, failure?: string): void {
  const { routeKey: route, requestContext, caller } = event;
  log({ requestId: requestContext.requestId, route, status, milliseconds, callerId: caller?.id, failure });
}

/** Logs an unexpected error under the request id, which the response carries too. */
export function logDefect(event: Event, error: unknown): void {
  logError('defect', error, { requestId: event.requestContext.requestId });
}
