import { AwsClient, type ClientConfig, type Command, commandFor, type SendOptions } from './aws-client.ts';

/** Replaces the SDK's SES client in the bundles. */
export class SESv2Client {
  readonly #client: AwsClient;

  constructor(config?: ClientConfig) {
    this.#client = new AwsClient('ses', config);
  }

  /** Sends a command. Fails with an error named as in the SDK. */
  send({ input }: Command, { abortSignal }: SendOptions = {}) {
    const headers = { 'Content-Type': 'application/json' };
    return this.#client.post('/v2/email/outbound-emails', headers, input, abortSignal);
  }
}

export const SendEmailCommand = commandFor('SendEmail');
