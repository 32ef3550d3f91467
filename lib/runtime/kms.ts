import { GenerateMacCommand, KMSClient } from '@aws-sdk/client-kms';
import { clientSettings } from './aws.ts';
import { abortBeforeDeadline } from './execution-environment.ts';

let shared: KMSClient | undefined;

/** One KMS client per function, so that all modules share its connections. */
export function sharedKms(): KMSClient {
  shared ??= new KMSClient(clientSettings);
  return shared;
}

/** The id of a key. A replica in another region has the same. */
export const idOfKey = (arn: string): string => arn.slice(arn.lastIndexOf('/') + 1);

/** The HMAC-SHA-256 of a message under a key in KMS. Throws SDK errors. */
export async function generateMac(
  kms: KMSClient,
  KeyId: string,
  Message: Uint8Array,
): Promise<Buffer> {
  const command = new GenerateMacCommand({ KeyId, Message, MacAlgorithm: 'HMAC_SHA_256' });
  const { Mac } = await kms.send(command, abortBeforeDeadline());
  return Buffer.from(Mac as Uint8Array);
}
