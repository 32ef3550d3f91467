import { AwsClient, type ClientConfig } from './aws-client.ts';

/** Replaces the SDK's DynamoDB client in the bundles. */
export class DynamoDBClient extends AwsClient {
  constructor(config?: ClientConfig) {
    // The SDK retries calls to DynamoDB twice as fast as others.
    super('dynamodb', config, 25);
  }
}
