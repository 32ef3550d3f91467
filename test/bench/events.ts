import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { startGateway } from '../../infra/local/gateway/gateway.ts';
import { routes } from '../../routes.ts';
import type { PreparedRequest } from '../support/instance/example-requests.ts';
import { encodedBody } from '../support/instance/launch.ts';

/**
 * Makes the events that API Gateway would call functions with, by sending requests to a gateway
 * without functions.
 */
export interface Events {
  eventOf(request: PreparedRequest): Promise<APIGatewayProxyEventV2>;
  stop(): Promise<void>;
}

export async function openEvents(): Promise<Events> {
  const api = { routes: new Map(routes.map(({ route }) => [route, route])), cors: undefined };
  let received: APIGatewayProxyEventV2 | undefined;
  const respond = async (_: string, event: APIGatewayProxyEventV2) => {
    received = event;
    return { statusCode: 200 };
  };
  const gateway = await startGateway(
    0,
    () => api,
    respond,
    (error) => process.stderr.write(`${error}\n`),
  );

  return {
    async eventOf({ method, path, token, body }) {
      received = undefined;
      const { bytes, type } = encodedBody(path, body);
      await fetch(gateway.url + path, {
        method,
        headers: {
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(bytes && { 'Content-Type': type }),
        },
        ...(bytes && { body: bytes }),
      });
      if (!received) throw new Error(`There is no route for ${method} ${path}`);
      return received;
    },
    stop: () => gateway.stop(0),
  };
}
