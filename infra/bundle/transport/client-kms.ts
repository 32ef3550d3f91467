import {
  AwsClient,
  type ClientConfig,
  type Command,
  commandFor,
  type Fields,
  type SendOptions,
} from './aws-client.ts';

/** Fields with bytes, which JSON carries as base64. */
const BLOBS = ['CiphertextBlob', 'Mac', 'Message', 'Plaintext', 'PublicKey', 'Signature'] as const;

export class KMSClient extends AwsClient {
  constructor(config?: ClientConfig) {
    super('kms', config);
  }

  async send({ operation, input }: Command, { abortSignal }: SendOptions = {}) {
    const headers = {
      'Content-Type': 'application/x-amz-json-1.1',
      'X-Amz-Target': `TrentService.${operation}`,
    };
    const encoded = converted(input, (bytes) =>
      Buffer.from(bytes as Uint8Array).toString('base64'),
    );
    const output = await this.post({ operation, path: '/', headers }, encoded, abortSignal);
    return converted(output, (text) => new Uint8Array(Buffer.from(text as string, 'base64')));
  }
}

function converted(fields: Fields, convert: (value: unknown) => unknown): Fields {
  const result = { ...fields };
  for (const name of BLOBS) if (result[name] !== undefined) result[name] = convert(result[name]);
  return result;
}

export const DecryptCommand = commandFor('Decrypt');
export const GenerateDataKeyCommand = commandFor('GenerateDataKey');
export const GenerateMacCommand = commandFor('GenerateMac');
export const GetPublicKeyCommand = commandFor('GetPublicKey');
export const SignCommand = commandFor('Sign');
