import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Caller } from '../contract/caller.ts';
import { log, logError } from '../runtime/log.ts';

type Event = APIGatewayProxyEventV2 & { caller?: Caller };

/** One line for each request. */
export function logRequest(event: Event, status: number | undefined, milliseconds: number, failure?: string): void {
  const { routeKey: route, requestContext, caller } = event;
  log({ requestId: requestContext.requestId, route, status, milliseconds, callerId: caller?.id, failure });
}

/** An error that no rule has thrown. */
export function logDefect(event: Event, error: unknown): void {
  logError('defect', error, { requestId: event.requestContext.requestId });
}
