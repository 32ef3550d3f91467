import { log, logError, type Metric } from '../runtime/log.ts';
import { retryCount } from '../runtime/retries.ts';
import type { Event } from './event.ts';

/**
 * Groups requests by their expected duration: a login hashes, a reset waits on purpose, a change is
 * a transaction.
 */
export type RequestKind = 'login' | 'reset' | 'change' | 'read';

const RETRIES: Metric = { field: 'retries', unit: 'Count', dimensions: [[]] };

/**
 * Logs a request as one line, with its duration in milliseconds and its failure code. The metric of
 * the duration is at the same time the count: of requests by kind, and of rejections by failure
 * code. The client's address is logged only behind an edge, where the access log has the address of
 * the edge instead.
 */
export function logRequest(
  event: Event,
  status: number | undefined,
  milliseconds: number,
  failure?: string,
): void {
  const { routeKey: route, requestContext, clientAddress, caller } = event;
  const duration: Metric = {
    field: 'milliseconds',
    unit: 'Milliseconds',
    dimensions: failure ? [['kind'], ['failure']] : [['kind']],
  };
  const retries = retryCount() || undefined;
  log(
    {
      requestId: requestContext.requestId,
      route,
      kind: kindOf(route),
      status,
      milliseconds,
      callerId: caller?.id,
      clientAddress,
      failure,
      retries,
    },
    duration,
    ...(retries ? [RETRIES] : []),
  );
}

function kindOf(route: string): RequestKind {
  if (route === 'POST /api/authenticate') return 'login';
  if (route.includes('/reset-password/')) return 'reset';
  return /^(GET|HEAD) /.test(route) ? 'read' : 'change';
}

/** Logs an unexpected error under the request id, which is also in the response. */
export function logDefect(event: Event, error: unknown): void {
  logError('defect', error, { requestId: event.requestContext.requestId });
}
