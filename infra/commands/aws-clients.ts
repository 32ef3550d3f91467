import { PATIENT_SETTINGS } from '../../lib/table/table-scanner.ts';
import { isHttpUrl } from '../settings/setting.ts';

/** The settings of clients for a region, with the operator's credentials. */
export const inRegion = (region: string) => ({ ...PATIENT_SETTINGS, region });

/** A response, or undefined if what was asked for does not exist. */
export async function ifFound<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    const { name, message } = error as Error;
    // CloudFormation has no error of its own for a stack that does not exist.
    const noStack = name === 'ValidationError' && / does not exist\b/.test(message);
    if (noStack || /NotFound(Exception)?$/.test(name)) return undefined;
    throw error;
  }
}

/**
 * Fails if it is unclear from the variables of the AWS SDK which account or which URL a command
 * would use.
 */
export function requireAwsEnvironment(): void {
  for (const suffix of ['_DYNAMODB', '_KMS', '_SESV2', '']) {
    const name = `AWS_ENDPOINT_URL${suffix}`;
    const url = process.env[name];
    // The errors of the SDK name neither the variable nor its value.
    if (url && !isHttpUrl(url))
      throw new Error(
        `${name} must be a URL that starts with http:// or https://, ` +
          `for example http://127.0.0.1:8000, not ${url}.`,
      );
  }
  // The SDK would use the profile, but the AWS CLI and the CDK would use the keys.
  if (process.env.AWS_PROFILE && process.env.AWS_ACCESS_KEY_ID)
    throw new Error(
      'AWS_PROFILE and AWS_ACCESS_KEY_ID are both set, and can be of different accounts: ' +
        'unset AWS_PROFILE, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.',
    );
}
