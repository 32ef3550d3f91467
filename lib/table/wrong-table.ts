/* Separate from the scanner, so that a command can read its arguments before the AWS SDK loads. */

/**
 * The table is not one of Gatehouse's: its keys are others, or it has no roster of administrators.
 */
export class NotGatehouseTable extends Error {}

/** What is wrong, and where to look, when an answer has not the form of one of DynamoDB. */
export const NOT_FROM_AWS =
  'The answer is not from AWS: check AWS_ENDPOINT_URL, the endpoint_url of the AWS ' +
  'profile, and any proxy.';
