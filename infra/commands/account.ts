import { STS } from '@aws-sdk/client-sts';
import { PATIENT_SETTINGS } from '../../lib/table/table-scanner.ts';
import {
  environmentFile,
  environmentNames,
  readEnvironment,
} from '../settings/environment-files.ts';
import { readSettings } from '../settings/read-settings.ts';
import { isHttpUrl } from '../settings/setting.ts';
import type { Settings } from '../settings/settings.ts';

/** The settings of clients for a region, with the operator's credentials. */
export const inRegion = (region: string) => ({ ...PATIENT_SETTINGS, region });

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

/** Fails if the variables of the AWS SDK do not settle which account and URL a command uses. */
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

/** The account and the ARN of the operator's credentials; reading them needs no permission. */
async function ownIdentity(settings: ConstructorParameters<typeof STS>[0] = PATIENT_SETTINGS) {
  const { Account, Arn } = await new STS(settings).getCallerIdentity({});
  if (Account === undefined) throw new Error('STS does not name the account of the credentials.');
  return { account: Account, arn: Arn ?? Account };
}

/** Another endpoint than AWS's has no accounts. */
const isElsewhere = (): boolean =>
  Boolean(process.env.AWS_ENDPOINT_URL || process.env.AWS_ENDPOINT_URL_DYNAMODB);

/** Whose credentials a command uses, for the audit trail. */
export const operatorsArn = async (): Promise<string> =>
  isElsewhere() ? 'local' : (await ownIdentity()).arn;

/** Reads an environment as `-c env=NAME` does. Throws if the credentials are of another account. */
export async function openEnvironment(env: string) {
  requireAwsEnvironment();
  const { name, settings } = readSettings({ env });
  return { name, settings, account: await requireAccount(name, settings) };
}

/** Returns the account of the credentials. Throws a sentence if the environment is in another. */
export async function requireAccount(
  environment: string,
  { account, region }: Settings,
): Promise<string> {
  const { account: own } = await ownIdentity(inRegion(region));
  if (account === undefined || account === own) return own;
  throw new Error(
    `The credentials are of the account ${own}, but ${environmentFile(environment)} names ${account}.`,
  );
}

const accountsOfEnvironments = (): [account: string, environment: string][] =>
  environmentNames().flatMap((name) => {
    const { account } = readEnvironment(name);
    return typeof account === 'string' ? [[account, name]] : [];
  });

/**
 * Throws a sentence if the credentials are of an account that no environment names. Without files
 * of environments, and at another endpoint than AWS's, any account is accepted.
 */
export async function requireKnownAccount(known = accountsOfEnvironments()): Promise<void> {
  if (known.length === 0 || isElsewhere()) return;
  const { account: own } = await ownIdentity();
  if (known.some(([account]) => account === own)) return;
  const names = known.map(([account, name]) => `${account} (${name})`).join(', ');
  throw new Error(
    `The credentials are of the account ${own}; the files in environments/ name ${names}.`,
  );
}
