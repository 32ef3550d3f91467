import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { ModuleCaller } from '../modules/module-token.ts';
import type { Caller } from '../users/caller.ts';

/**
 * The API Gateway event, with the client's address if there is an edge, its caller once
 * authenticated, and for the log the user that it has authenticated by a password.
 */
export type Event = APIGatewayProxyEventV2 & {
  clientAddress?: string;
  caller?: Caller | ModuleCaller;
  callerId?: number;
  clientId?: string;
};

/** Whether a request reads, by its method. */
export const isRead = ({ requestContext }: APIGatewayProxyEventV2): boolean =>
  ['GET', 'HEAD'].includes(requestContext.http.method);
