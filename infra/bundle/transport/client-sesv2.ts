import {
  AwsClient,
  type ClientConfig,
  type Command,
  commandFor,
  type SendOptions,
} from './aws-client.ts';

export class SESv2Client extends AwsClient {
  constructor(config?: ClientConfig) {
    super('ses', config);
  }

  send({ operation, input }: Command, { abortSignal }: SendOptions = {}) {
    const headers = { 'Content-Type': 'application/json' };
    const call = { operation, path: '/v2/email/outbound-emails', headers };
    return this.post(call, input, abortSignal);
  }
}

export const SendEmailCommand = commandFor('SendEmail');
