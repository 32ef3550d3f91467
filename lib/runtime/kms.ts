import { KMSClient } from '@aws-sdk/client-kms';
import { clientSettings } from './aws.ts';

let shared: KMSClient | undefined;

/** One client of KMS for a whole function: whoever asks first opens the connection for all. */
export function sharedKms(): KMSClient {
  shared ??= new KMSClient(clientSettings);
  return shared;
}
