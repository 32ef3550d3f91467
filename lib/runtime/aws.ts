import { endpointOf, type Service } from './endpoint.ts';

// An import would make Node load its entire fetch implementation: a fifth of the start of a
// command.
const [http, https] = [
  process.getBuiltinModule('node:http'),
  process.getBuiltinModule('node:https'),
];

const CONNECTION_TIMEOUT_MS = 500;

/** Shared by all AWS clients of a function, so that they reuse connections. */
const agents = {
  httpAgent: new http.Agent({ keepAlive: true, maxSockets: 50 }),
  httpsAgent: new https.Agent({ keepAlive: true, maxSockets: 50 }),
};

/**
 * The configuration of every AWS client. Without `throwOnRequestTimeout` the SDK only warns about a
 * late response and waits indefinitely. The SDK retries throttled, failed and lost requests itself,
 * a transaction with the same client request token. Timeouts are in milliseconds.
 */
export const clientSettings = {
  maxAttempts: 3,
  requestHandler: {
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: 1500,
    throwOnRequestTimeout: true,
    ...agents,
  },
};

/**
 * Opens a connection before the first request of an AWS client, which then needs no handshakes.
 * Errors are ignored.
 */
export function openConnection(service: Service): void {
  const url = endpointOf(service);
  const isTls = url.protocol === 'https:';
  const options = {
    method: 'HEAD',
    agent: isTls ? agents.httpsAgent : agents.httpAgent,
    timeout: CONNECTION_TIMEOUT_MS,
  };
  const request = (isTls ? https : http).request(url, options, (response) => response.resume());
  request
    .on('error', () => undefined)
    .on('timeout', () => request.destroy())
    .end();
}
