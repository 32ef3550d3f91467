/**
 * By the name in signatures: the first label of the host, and the suffix of the variable with
 * another endpoint.
 */
const SERVICES = {
  dynamodb: ['dynamodb', 'DYNAMODB'],
  kms: ['kms', 'KMS'],
  ses: ['email', 'SESV2'],
} as const;

/** An AWS service that functions call, by its name in signatures. */
export type Service = keyof typeof SERVICES;

/**
 * The endpoint of a service, by the environment variables of the SDK, in which empty counts as
 * absent. The stack sets ENDPOINT_DOMAIN in regions whose endpoints are not below amazonaws.com.
 */
export function endpointOf(service: Service): URL {
  const {
    AWS_REGION: region,
    AWS_ENDPOINT_URL: common,
    ENDPOINT_DOMAIN: domain = 'amazonaws.com',
  } = process.env;
  const [label, suffix] = SERVICES[service];
  const isIgnored = process.env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true';
  const configured = isIgnored ? undefined : process.env[`AWS_ENDPOINT_URL_${suffix}`] || common;
  return new URL(configured || `https://${label}.${region}.${domain}`);
}

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
 * The bound of the wait before a throttled call is repeated once. A call that waits occupies an
 * execution: longer waits, as the SDK makes them, would let one busy partition key use up the
 * executions of all functions.
 */
export const THROTTLED_WAIT_MS = 100;

/**
 * The configuration of the AWS clients that answer requests. Without `throwOnRequestTimeout` the
 * SDK only warns about a late response and waits indefinitely. The client retries throttled, failed
 * and lost calls itself, a transaction with the same client request token. Only the transport of
 * the bundles knows `throttledWaitMs`. Timeouts are in milliseconds.
 */
export const clientSettings = {
  maxAttempts: 3,
  throttledWaitMs: THROTTLED_WAIT_MS,
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
