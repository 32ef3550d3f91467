import type { Contract } from '../contract/contract.ts';
import type { Failure } from '../contract/failure.ts';
import { retryCount } from '../runtime/execution-environment.ts';
import { log, logError, type Metric } from '../runtime/log.ts';
import { type Event, isRead } from './request.ts';

const RETRIES: Metric = { field: 'retries', unit: 'Count', dimensions: [[]] };

/**
 * Logs a request as one line, with its duration in milliseconds and its failure code. The metric of
 * the duration is at the same time the count: of requests by kind, and of rejections by failure
 * code. The client's address is logged only behind an edge, where the access log has the address of
 * the edge instead.
 */
export function logRequest(
  contract: Contract,
  event: Event,
  status: number | undefined,
  milliseconds: number,
  {
    code: failure,
    reason,
    loginPseudonym,
  }: Partial<Pick<Failure, 'code' | 'reason' | 'loginPseudonym'>> = {},
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
      kind: contract.kind ?? (isRead(event) ? 'read' : 'change'),
      status,
      milliseconds,
      callerId: caller && 'id' in caller ? caller.id : event.callerId,
      clientId: caller && 'clientId' in caller ? caller.clientId : event.clientId,
      clientAddress,
      failure,
      reason,
      loginPseudonym,
      retries,
    },
    duration,
    ...(retries ? [RETRIES] : []),
  );
}

/** Logs an unexpected error under the request id, which is also in the response. */
export function logDefect(event: Event, error: unknown): void {
  logError('defect', error, { requestId: event.requestContext.requestId });
}

/** What an error of an AWS client says about the call that failed. */
interface AwsError {
  readonly name?: string;
  readonly code?: unknown;
  readonly $metadata?: {
    readonly httpStatusCode?: number;
    readonly requestId?: string;
    readonly attempts?: number;
    readonly service?: string;
    readonly operation?: string;
  };
  readonly ThrottlingReasons?: readonly { readonly reason?: string }[];
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

/**
 * Logs what made a request unavailable: the last call to AWS that failed, or a conflict with other
 * requests if none did. Without stack frames, unlike a defect: an outage has many such lines.
 */
export function logOutage({ routeKey: route, requestContext }: Event, cause: unknown): void {
  const error = (cause ?? { name: 'conflict' }) as AwsError;
  const { name, code, $metadata, ThrottlingReasons = [], CancellationReasons = [] } = error;
  const reasons = new Set([
    ...ThrottlingReasons.map(({ reason }) => reason),
    ...CancellationReasons.map(({ Code }) => Code).filter((reason) => reason !== 'None'),
  ]);
  log({
    requestId: requestContext.requestId,
    route,
    outage: name,
    code: typeof code === 'string' ? code : undefined,
    service: $metadata?.service,
    operation: $metadata?.operation,
    awsStatus: $metadata?.httpStatusCode,
    awsRequestId: $metadata?.requestId,
    reasons: [...reasons].join(' ') || undefined,
    attempts: $metadata?.attempts,
  });
}
