import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Caller } from '../users/caller.ts';

/**
 * The API Gateway event, with the client's address if there is an edge, and its caller once
 * authenticated.
 */
export type Event = APIGatewayProxyEventV2 & { clientAddress?: string; caller?: Caller };
