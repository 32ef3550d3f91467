/** The transport of this project, or the AWS SDK: docs/adr/0011 compares them. */
export const TRANSPORTS = ['minimal', 'sdk'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** The transport of local runs: the environment variable TRANSPORT. Throws for an unknown one. */
export function localTransport(): Transport {
  const { TRANSPORT = 'minimal' } = process.env;
  const transport = TRANSPORTS.find((name) => name === TRANSPORT);
  if (transport) return transport;
  throw new Error(`TRANSPORT must be minimal or sdk, not ${TRANSPORT}.`);
}
