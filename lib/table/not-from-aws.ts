/** What is wrong, and where to look, when an answer has not the form of one of DynamoDB. */
export const NOT_FROM_AWS =
  'The answer is not from AWS: check AWS_ENDPOINT_URL, the endpoint_url of the AWS ' +
  'profile, and any proxy.';
