/** The URL of the engine that `npm start` and the commands use instead of the embedded one. */
export const externalEngine = (): string | undefined =>
  process.env.AWS_ENDPOINT_URL_DYNAMODB || undefined;
