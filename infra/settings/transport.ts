import { readCdkJson } from './read-cdk-json.ts';

/**
 * What functions call AWS with: the transport of this project, or the AWS SDK. docs/adr/0011
 * compares them.
 */
export const TRANSPORTS = ['minimal', 'sdk'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/**
 * The transport of local runs: the environment variable TRANSPORT, or the context key `transport`
 * of cdk.json.
 */
export function localTransport(): Transport {
  return transportOf(process.env.TRANSPORT ?? readCdkJson().context.transport);
}

/** Checks the value of the context key `transport`. Throws for an unknown one. */
export function transportOf(value: unknown): Transport {
  const transport = TRANSPORTS.find((name) => name === value);
  if (transport) return transport;
  throw new Error(`transport must be "minimal" or "sdk", not ${JSON.stringify(value)}.`);
}
