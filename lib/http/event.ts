import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Caller } from '../users/caller.ts';

/**
 * The API Gateway event, with the client's address if there is an edge, its caller once
 * authenticated, and for the log the user that it has authenticated by a password.
 */
export type Event = APIGatewayProxyEventV2 & {
  clientAddress?: string;
  caller?: Caller;
  callerId?: number;
};
