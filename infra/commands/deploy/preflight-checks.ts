import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  GetAccountCommand,
  GetConfigurationSetCommand,
  GetEmailIdentityCommand,
} from '@aws-sdk/client-sesv2';
import { MILLISECONDS_PER_DAY } from '../../../lib/audit/audit-entry.ts';
import { backupStackName } from '../../settings/backup.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';
import { stackName } from '../../settings/environment.ts';
import { EXPIRY_NOTICE_DAYS, publicHostName } from '../../settings/host-names.ts';
import {
  CONCURRENCY_QUOTA,
  INSTANCE_REQUESTS_PER_SECOND,
  reservedConcurrency,
  sharedExecutions,
  throttleOf,
  UNRESERVED_MIN,
} from '../../settings/limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { type AwsReader, ifFound } from '../aws-reader.ts';
import {
  backupStack,
  canaryAlarms,
  edgeStack,
  firstOf,
  type Missing,
  ownTopic,
  stack,
  tableOf,
  topic,
} from './deployed.ts';
import { orphans } from './orphans.ts';
import { keys, mappings, table } from './protections.ts';
import { trail } from './trail.ts';

/** The checks of what an environment needs of AWS before its deployment, by their names. */
export function checksOf(
  environment: string,
  settings: Settings,
  readerOf: (region: string) => AwsReader,
): Readonly<Record<string, () => Promise<Missing>>> {
  const { mail, domain, alarms, edge, backup, deployment } = settings;
  const { configurationSet: set } = mail;
  const aws = readerOf(settings.region);
  const edgeAws = readerOf(EDGE_REGION);
  return {
    'CDK bootstrap': () => bootstrap(aws, environment),
    [`stack ${stackName(environment)}`]: () => stack(aws, environment, settings),
    table: () => table(aws, environment, settings),
    'stream of the table': () => mappings(aws, environment),
    keys: () => keys(environment, settings, readerOf),
    'data of an earlier stack': () => orphans(aws, environment, settings),
    [`sender ${mail.sender}`]: () => sender(aws, mail),
    ...(set && { [`configuration set ${set}`]: () => configurationSet(aws, set) }),
    'SES account': () => sesAccount(aws, websiteOf(settings)),
    'Lambda concurrency': () => concurrency(aws, settings),
    'API Gateway quota': () => gatewayQuota(aws, settings),
    ...(domain && {
      // The public logs of certificates would reveal the name of an origin.
      [`certificate for ${domain.name}`]: () => certificate(aws, domain, edge !== undefined),
    }),
    ...(alarms && {
      ...(alarms.startsWith('arn:')
        ? { [`alarm topic ${alarms}`]: () => topic(aws, alarms) }
        : { [`alarms to ${alarms}`]: () => ownTopic(aws, environment, alarms) }),
      'alarm concurrency': () => sharedConcurrency(aws, environment, settings),
      // The events of the second region are recorded and forwarded there.
      CloudTrail: () =>
        firstOf(
          [settings.region, ...(backup ? [backup.region] : [])].map((region) =>
            trail(readerOf(region), region),
          ),
        ),
    }),
    ...(deployment === 'canary' && { canary: () => canaryAlarms(aws, environment) }),
    ...(edge && {
      [`CDK bootstrap in ${EDGE_REGION}`]: () => bootstrap(edgeAws, environment),
      [`stack ${edgeStackName(environment)}`]: () => edgeStack(edgeAws, environment, settings),
      [`certificate for ${edge.hostName}`]: () =>
        certificate(edgeAws, { ...edge, name: edge.hostName }),
      [`secret ${edge.secret}`]: () => secret(edgeAws, edge, environment),
    }),
    ...(backup && {
      'AWS Backup': () => advancedBackups(aws),
      [`CDK bootstrap in ${backup.region}`]: () => bootstrap(readerOf(backup.region), environment),
      [`stack ${backupStackName(environment)}`]: () =>
        backupStack(readerOf(backup.region), environment),
    }),
  };
}

/**
 * The version that the cloud assembly requires (`requiresBootstrapStackVersion` in its manifest).
 */
export const BOOTSTRAP_VERSION = 6;

async function bootstrap(aws: AwsReader, environment: string): Promise<Missing> {
  const remedy = `npx cdk bootstrap -c env=${environment}`;
  const parameter = { Name: '/cdk-bootstrap/hnb659fds/version' };
  const found = await ifFound(aws.read('ssm', 'GetParameter', parameter));
  if (!found) return ['not done in this account and region', remedy];
  const version = Number(found.Parameter?.Value);
  if (version < BOOTSTRAP_VERSION)
    return [`version ${version} is older than ${BOOTSTRAP_VERSION}`, remedy];
  const installed = installedBootstrap();
  if (version >= installed) return undefined;
  return [
    `version ${version} is older than ${installed} of the installed CDK: its roles may lack ` +
      'permissions, such as the one to read why CloudFormation rejects a change set',
    remedy,
    'warning',
  ];
}

/** The version of the template with which the installed CDK would bootstrap. */
function installedBootstrap(): number {
  const folder = dirname(createRequire(import.meta.url).resolve('aws-cdk/package.json'));
  const template = readFileSync(join(folder, 'lib/api/bootstrap/bootstrap-template.yaml'), 'utf8');
  return Number(/CdkBootstrapVersion:[\s\S]*?Value: '?(\d+)/.exec(template)?.[1]);
}

/** SES uses the identity of the address if there is one, otherwise the identity of its domain. */
async function sender(
  aws: AwsReader,
  { sender, configurationSet }: Settings['mail'],
): Promise<Missing> {
  const domain = sender.slice(sender.indexOf('@') + 1);
  const find = (name: string) =>
    ifFound(aws.ses.send(new GetEmailIdentityCommand({ EmailIdentity: name })));
  const ofAddress = await find(sender);
  const ofDomain = await find(domain);
  const identity = ofAddress ?? ofDomain;
  const create = aws.cli(`sesv2 create-email-identity --email-identity ${domain}`);
  const tokens = aws.cli(
    `sesv2 get-email-identity --email-identity ${domain} --query 'DkimAttributes.[Status,Tokens]'`,
  );
  const isSigned = ofDomain?.DkimAttributes?.Status === 'SUCCESS';
  if (!identity) return ['neither the address nor its domain is an identity of SES', create];
  if (ofAddress && !ofAddress.VerifiedForSendingStatus)
    return [
      'the address is not verified: confirm the mail that AWS sends to it',
      aws.cli(`ses verify-email-identity --email-address ${sender}`),
    ];
  if (!ofAddress && !(identity.VerifiedForSendingStatus && isSigned))
    return [`${domain} is not verified by DKIM: publish the CNAME records of its tokens`, tokens];
  const byDefault = identity.ConfigurationSetName;
  if (byDefault && !configurationSet)
    return [
      `its identity has the default configuration set ${byDefault}, ` +
        'with which functions may not send',
      `set "configurationSet": "${byDefault}" in mail`,
    ];
  // DMARC requires the sender's own domain in DKIM or in MAIL FROM, whose default is amazonses.com.
  const hasMailFrom = identity.MailFromAttributes?.MailFromDomainStatus === 'SUCCESS';
  if (!isSigned)
    return [
      `${domain} is not verified by DKIM, so ` +
        (hasMailFrom
          ? 'DMARC depends on the MAIL FROM domain alone'
          : 'mails fail DMARC: receivers may reject or hide them'),
      ofDomain ? tokens : create,
      'warning',
    ];
  if (hasMailFrom) return undefined;
  return [
    'DMARC depends on DKIM alone, because there is no MAIL FROM domain',
    aws.cli(
      'sesv2 put-email-identity-mail-from-attributes ' +
        `--email-identity ${ofAddress ? sender : domain} --mail-from-domain bounce.${domain}`,
    ),
    'warning',
  ];
}

async function configurationSet(aws: AwsReader, name: string): Promise<Missing> {
  const request = new GetConfigurationSetCommand({ ConfigurationSetName: name });
  if (await ifFound(aws.ses.send(request))) return undefined;
  return [
    'does not exist',
    aws.cli(`sesv2 create-configuration-set --configuration-set-name ${name}`),
  ];
}

/** Where users find the service. API Gateway chooses a host name only at the first deployment. */
function websiteOf({ mail: { linkBase }, ...names }: Settings): string {
  return linkBase ? new URL(linkBase).origin : `https://${publicHostName(names) ?? 'WEBSITE'}`;
}

async function sesAccount(aws: AwsReader, website: string): Promise<Missing> {
  const { ProductionAccessEnabled, SendingEnabled } = await aws.ses.send(new GetAccountCommand({}));
  if (!ProductionAccessEnabled)
    return [
      'is in the sandbox: only verified addresses receive mail, and functions may use only the ' +
        'identities of the sender and its domain, which SES requires for recipients as well',
      aws.cli(
        'sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL ' +
          `--website-url ${website}`,
      ),
    ];
  if (SendingEnabled) return undefined;
  return [
    'its sending is paused',
    aws.cli('sesv2 put-account-sending-attributes --sending-enabled'),
  ];
}

/** Any single route must be able to reach the rate of its throttle. */
async function concurrency(aws: AwsReader, settings: Settings): Promise<Missing> {
  const found = await aws.read('lambda', '/2016-08-19/account-settings');
  const quota: number = found.AccountLimit.ConcurrentExecutions;
  const { loginConcurrency } = settings;
  const { all, login } = throttleOf(settings);
  const reserved = reservedConcurrency(loginConcurrency);
  const { rate } = loginConcurrency ? all : login;
  const shared = Math.max(UNRESERVED_MIN, Math.ceil(rate / INSTANCE_REQUESTS_PER_SECOND));
  const needed = reserved + shared;
  if (quota >= needed) return undefined;
  const sum = loginConcurrency ? ` = ${reserved} for logins + ${shared}` : '';
  return [
    `the quota is ${quota}, but this environment needs ${needed}${sum}`,
    aws.cli(
      'service-quotas request-service-quota-increase --service-code lambda ' +
        `--quota-code L-B99A9384 --desired-value ${Math.max(needed, CONCURRENCY_QUOTA)}`,
    ),
  ];
}

/** Compares what the alarm counts on with what functions of all stacks have left. */
async function sharedConcurrency(
  aws: AwsReader,
  environment: string,
  settings: Settings,
): Promise<Missing> {
  // Before the first deployment, its own reservations are still part of it.
  if ((await tableOf(aws, environment)) === undefined) return undefined;
  const { AccountLimit: limit } = await aws.read('lambda', '/2016-08-19/account-settings');
  const actual: number = limit.UnreservedConcurrentExecutions;
  const expected = sharedExecutions(settings);
  if (actual === expected) return undefined;
  return [
    `functions without a reservation share ${actual} executions, and the alarm is for ${expected}`,
    `if it says the same after the deployment, set "unreservedConcurrency": ${actual}`,
    'warning',
  ];
}

/** Beyond the quota of the account, API Gateway throttles whatever the settings say. */
async function gatewayQuota(aws: AwsReader, settings: Settings): Promise<Missing> {
  const { rate, burst } = throttleOf(settings).login;
  const { throttleSettings: quota } = await aws.read('apigateway', '/account');
  const { rateLimit, burstLimit } = quota;
  if (rate <= rateLimit && burst <= burstLimit) return undefined;
  return [
    `requestsPerSecond exceeds it: ${rateLimit} requests a second, and bursts of ${burstLimit}`,
    // AWS sets the burst, which nobody can request.
    rate <= rateLimit
      ? `lower requestsPerSecond to ${Math.floor(burstLimit / 4)}`
      : aws.cli(
          'service-quotas request-service-quota-increase --service-code apigateway ' +
            `--quota-code L-8A5B8E43 --desired-value ${Math.ceil(rate)}`,
        ),
    'warning',
  ];
}

/** Without the advanced features, which older accounts must enable, nothing is copied. */
async function advancedBackups(aws: AwsReader): Promise<Missing> {
  const { ResourceTypeManagementPreference: isManaged } = await aws.read(
    'backup',
    '/account-settings',
  );
  if (isManaged?.DynamoDB !== false) return undefined;
  return [
    'its advanced features for DynamoDB are off, so backups cannot be copied to another region',
    aws.cli('backup update-region-settings --resource-type-management-preference DynamoDB=true'),
  ];
}

async function certificate(
  aws: AwsReader,
  { name, certificate: arn }: NonNullable<Settings['domain']>,
  isHidden = false,
): Promise<Missing> {
  // A wildcard stands for one label.
  const wildcard = name.replace(/^[^.]+/, '*');
  const requested = isHidden ? `'${wildcard}'` : name;
  const remedy = aws.cli(
    `acm request-certificate --domain-name ${requested} --validation-method DNS`,
  );
  const found = await ifFound(aws.read('acm', 'DescribeCertificate', { CertificateArn: arn }));
  if (!found) return ['does not exist', remedy];
  const { Status, SubjectAlternativeNames: names = [], NotAfter, Type } = found.Certificate;
  if (!names.includes(name) && !names.includes(wildcard))
    return [`is for ${names.join(', ')} only`, remedy];
  const query = "--query 'Certificate.DomainValidationOptions[].ResourceRecord'";
  const validation = aws.cli(`acm describe-certificate --certificate-arn ${arn} ${query}`);
  if (Status !== 'ISSUED')
    return [
      `has the status ${Status}; while it is pending, its record in DNS is missing`,
      validation,
    ];
  const expires = new Date(NotAfter * 1000);
  if (expires.getTime() > Date.now() + EXPIRY_NOTICE_DAYS * MILLISECONDS_PER_DAY) return undefined;
  const problem = `expires at ${expires.toISOString()}`;
  if (Type === 'IMPORTED')
    return [problem, aws.cli(`acm import-certificate --certificate-arn ${arn}`), 'warning'];
  return [
    `${problem}: ACM could not renew it, often because its record in DNS is missing`,
    validation,
    'warning',
  ];
}

/** Reads the secret, but prints only its hash. */
async function secret(
  aws: AwsReader,
  { secret: name, secretHashes }: NonNullable<Settings['edge']>,
  environment: string,
): Promise<Missing> {
  const create = (name: string) =>
    aws.cli(
      `secretsmanager create-secret --name ${name} --secret-string "$(openssl rand -hex 32)"`,
    );
  const found = await ifFound(aws.read('secretsmanager', 'GetSecretValue', { SecretId: name }));
  if (!found) return ['does not exist', create(name)];
  const value = String(found.SecretString);
  if (!/^[0-9a-f]{64}$/.test(value))
    return ['is not 64 hexadecimal digits: create another, and name it in edge', create('NAME')];
  const hash = createHash('sha256').update(value).digest('hex');
  if (secretHashes.includes(hash)) return undefined;
  return [
    `has the SHA-256 hash ${hash}, which secretHashes does not contain`,
    `add it to secretHashes, and deploy it before ${edgeStackName(environment)} sends this secret`,
  ];
}
