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
