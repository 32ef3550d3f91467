import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Caller } from '../users/caller.ts';

/*
 * The log is a list of what may be in it: one line of JSON for each request, and one more for a defect. Bodies, headers,
 * paths and items are not on the list.
 */

type Event = APIGatewayProxyEventV2 & { caller?: Caller };

/** One line for each request. */
export function logRequest(event: Event, status: number | undefined, milliseconds: number, failure?: string): void {
  write({
    requestId: event.requestContext.requestId,
    route: event.routeKey,
    status,
    milliseconds,
    callerId: event.caller?.id,
    failure,
  });
}

/** An error that no rule has thrown. */
export function logDefect(event: Event, error: unknown): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  write({ requestId: event.requestContext.requestId, defect: name, message, stack });
}

function write(entry: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(entry)}\n`);
}
