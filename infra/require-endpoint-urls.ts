import { isHttpUrl } from './http-url.ts';

const VARIABLES = ['AWS_ENDPOINT_URL_DYNAMODB', 'AWS_ENDPOINT_URL'];

/** Fails if a variable that replaces the URL of AWS has none: the errors of the SDK name neither variable nor value. */
export function requireEndpointUrls(): void {
  for (const name of VARIABLES) {
    const url = process.env[name];
    if (!url || isHttpUrl(url)) continue;
    throw new Error(
      `${name} must be a URL that starts with http:// or https://, for example http://127.0.0.1:8000, not ${url}.`,
    );
  }
}
