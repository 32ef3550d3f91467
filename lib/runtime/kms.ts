import { KMSClient } from '@aws-sdk/client-kms';
import { clientSettings } from './aws.ts';

let shared: KMSClient | undefined;

/** One KMS client per function, so that all modules share its connections. */
export function sharedKms(): KMSClient {
  shared ??= new KMSClient(clientSettings);
  return shared;
}
