export const externalEngine = (): string | undefined =>
  process.env.AWS_ENDPOINT_URL_DYNAMODB || undefined;
