import { STS } from '@aws-sdk/client-sts';
import { PATIENT_SETTINGS } from '../../lib/table/table-scanner.ts';
import {
  environmentFile,
  environmentNames,
  readEnvironment,
} from '../settings/environment-files.ts';
import { readSettings } from '../settings/read-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { inRegion, requireAwsEnvironment } from './aws-clients.ts';

/**
 * The id of the account of the operator's credentials, in their region unless one is given. No
 * permission is needed to read it.
 */
async function ownAccount(settings: ConstructorParameters<typeof STS>[0] = PATIENT_SETTINGS) {
  const { Account } = await new STS(settings).getCallerIdentity({});
  if (Account === undefined) throw new Error('STS does not name the account of the credentials.');
  return Account;
}

/**
 * Reads an environment as `-c env=NAME` would, for a command that reads what AWS has of it. Throws
 * a sentence if the settings are wrong, or the credentials are of another account.
 */
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
  const own = await ownAccount(inRegion(region));
  if (account === undefined || account === own) return own;
  throw new Error(
    `The credentials are of the account ${own}, but ${environmentFile(environment)} names ${account}.`,
  );
}

/** The accounts that the settings name, each with its environment. */
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
  const isElsewhere = process.env.AWS_ENDPOINT_URL || process.env.AWS_ENDPOINT_URL_DYNAMODB;
  if (known.length === 0 || isElsewhere) return;
  const own = await ownAccount();
  if (known.some(([account]) => account === own)) return;
  const names = known.map(([account, name]) => `${account} (${name})`).join(', ');
  throw new Error(
    `The credentials are of the account ${own}; the files in environments/ name ${names}.`,
  );
}
