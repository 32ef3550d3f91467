import { SignatureV4 } from '@smithy/signature-v4';

/*
 * Replaces modules of the SDK that functions do not use: the discovery of endpoints (for
 * Timestream) and signatures for several regions. With the event streams, they were 22 KB of each
 * bundle.
 */

export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: false,
};
export const resolveEndpointDiscoveryConfig = <T>(config: T): T => config;

/** Signs for one region, which is all that SES needs here. */
export class SignatureV4MultiRegion extends SignatureV4 {
  static sigv4aDependency = (): 'none' => 'none';
}
