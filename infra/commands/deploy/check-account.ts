import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ACM } from '@aws-sdk/client-acm';
import { APIGateway } from '@aws-sdk/client-api-gateway';
import { Backup } from '@aws-sdk/client-backup';
import { Lambda } from '@aws-sdk/client-lambda';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { SESv2 } from '@aws-sdk/client-sesv2';
import { SNS } from '@aws-sdk/client-sns';
import { SSM } from '@aws-sdk/client-ssm';
import { MILLISECONDS_PER_DAY } from '../../../lib/audit/audit-entry.ts';
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
import { ifFound, inRegion } from '../aws-clients.ts';
import type { Row, Target } from './check.ts';

/* What a deployment needs, but does not create. */

/**
 * The version that the cloud assembly requires (`requiresBootstrapStackVersion` in its manifest).
 */
export const BOOTSTRAP_VERSION = 6;

export async function bootstrap({ environment, region }: Target): Promise<Row[]> {
  const Name = '/cdk-bootstrap/hnb659fds/version';
  const found = await ifFound(new SSM(inRegion(region)).getParameter({ Name }));
  const version = Number(found?.Parameter?.Value);
  const installed = installedBootstrap();
  const remedy = `npx cdk bootstrap -c env=${environment}`;
  const older = `version ${version} is older than`;
  return [
    [!found, 'was not done in this account, so every deployment fails', remedy],
    [
      version < BOOTSTRAP_VERSION,
      `${older} ${BOOTSTRAP_VERSION}, so every deployment fails`,
      remedy,
    ],
    [
      version < installed,
      `${older} ${installed} of the installed CDK: its roles may lack permissions, such as the ` +
        'one to read why CloudFormation rejects a change set',
      remedy,
      'warning',
    ],
  ];
}

/** The version of the template with which the installed CDK would bootstrap. */
function installedBootstrap(): number {
  const folder = dirname(createRequire(import.meta.url).resolve('aws-cdk/package.json'));
  const template = readFileSync(join(folder, 'lib/api/bootstrap/bootstrap-template.yaml'), 'utf8');
  return Number(/CdkBootstrapVersion:[\s\S]*?Value: '?(\d+)/.exec(template)?.[1]);
}

/** SES uses the identity of the address if there is one, otherwise the identity of its domain. */
export async function sender({ region, settings: { mail } }: Target): Promise<Row[]> {
  const { sender, configurationSet } = mail;
  const domain = sender.slice(sender.indexOf('@') + 1);
  const ses = new SESv2(inRegion(region));
  const ofAddress = await ifFound(ses.getEmailIdentity({ EmailIdentity: sender }));
  const ofDomain = await ifFound(ses.getEmailIdentity({ EmailIdentity: domain }));
  const identity = ofAddress ?? ofDomain;
  const isSigned = ofDomain?.DkimAttributes?.Status === 'SUCCESS';
  const byDefault = identity?.ConfigurationSetName;
  // DMARC requires the sender's own domain in DKIM or in MAIL FROM, whose default is amazonses.com.
  const hasMailFrom = identity?.MailFromAttributes?.MailFromDomainStatus === 'SUCCESS';
  const ofName = (name: string) => `--email-identity ${name} --region ${region}`;
  const create = `aws sesv2 create-email-identity ${ofName(domain)}`;
  const query = "--query 'DkimAttributes.[Status,Tokens]'";
  const tokens = `aws sesv2 get-email-identity ${query} ${ofName(domain)}`;
  const rejects = 'so SES rejects every mail';
  let unsigned = ofAddress ? 'so mails fail DMARC, and receivers reject or hide them' : rejects;
  if (ofAddress && hasMailFrom) unsigned = 'so DMARC depends on the MAIL FROM domain alone';
  return [
    [!identity, `neither the address nor its domain is an identity of SES, ${rejects}`, create],
    [
      ofAddress !== undefined && !ofAddress.VerifiedForSendingStatus,
      `the address is not verified, ${rejects}: confirm the mail that AWS sends to it`,
      `aws ses verify-email-identity --email-address ${sender} --region ${region}`,
    ],
    [
      byDefault !== undefined && !configurationSet,
      `its identity has the default configuration set ${byDefault}, with which functions may ` +
        `not send, ${rejects}`,
      `set "configurationSet": "${byDefault}" in mail`,
    ],
    [
      !isSigned || !identity?.VerifiedForSendingStatus,
      `${domain} is not verified by DKIM, ${unsigned}: publish the CNAME records of its tokens`,
      ofDomain ? tokens : create,
      ofAddress && 'warning',
    ],
    [
      !hasMailFrom,
      'DMARC depends on DKIM alone, because there is no MAIL FROM domain',
      `aws sesv2 put-email-identity-mail-from-attributes --mail-from-domain bounce.${domain} ` +
        ofName(ofAddress ? sender : domain),
      'warning',
    ],
  ];
}

export async function configurationSet({ region }: Target, name: string): Promise<Row[]> {
  const ses = new SESv2(inRegion(region));
  const found = await ifFound(ses.getConfigurationSet({ ConfigurationSetName: name }));
  const create = `create-configuration-set --configuration-set-name ${name} --region ${region}`;
  return [[!found, 'does not exist, so SES rejects every mail', `aws sesv2 ${create}`]];
}

export async function ses({ region, settings }: Target): Promise<Row[]> {
  const account = await new SESv2(inRegion(region)).getAccount({});
  const { linkBase } = settings.mail;
  // API Gateway chooses a host name only at the first deployment.
  const host = `https://${publicHostName(settings) ?? 'WEBSITE'}`;
  return [
    [
      !account.ProductionAccessEnabled,
      'is in the sandbox: only verified addresses receive mail, and functions may use only the ' +
        'identities of the sender and its domain, which SES requires for recipients as well',
      'aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL ' +
        `--website-url ${linkBase ? new URL(linkBase).origin : host} --region ${region}`,
    ],
    [
      !account.SendingEnabled,
      'its sending is paused, so nobody receives mail',
      `aws sesv2 put-account-sending-attributes --sending-enabled --region ${region}`,
    ],
  ];
}

const REQUEST_QUOTA = 'aws service-quotas request-service-quota-increase';

/** Any single route must reach the rate of its throttle, and the alarm know what is shared. */
export async function lambdaQuota({ region, settings, stack }: Target): Promise<Row[]> {
  const { loginConcurrency, alarms } = settings;
  const { all, login } = throttleOf(settings);
  const { AccountLimit: limit } = await new Lambda(inRegion(region)).getAccountSettings({});
  const { ConcurrentExecutions: quota = 0, UnreservedConcurrentExecutions: actual } = limit ?? {};
  const reserved = reservedConcurrency(loginConcurrency);
  const { rate } = loginConcurrency ? all : login;
  const shared = Math.max(UNRESERVED_MIN, Math.ceil(rate / INSTANCE_REQUESTS_PER_SECOND));
  const needed = reserved + shared;
  const expected = sharedExecutions(settings);
  return [
    [
      quota < needed,
      `the quota is ${quota}, but this environment needs ${needed}` +
        (loginConcurrency
          ? ` = ${reserved} for logins + ${shared}: the deployment fails`
          : ': beyond it, requests end with 503'),
      `${REQUEST_QUOTA} --service-code lambda --quota-code L-B99A9384 ` +
        `--desired-value ${Math.max(needed, CONCURRENCY_QUOTA)} --region ${region}`,
    ],
    [
      // Before the first deployment, its own reservations are still part of what is shared.
      alarms !== undefined &&
        actual !== expected &&
        (await stack())?.resources.has('Table') === true,
      `functions without a reservation share ${actual} executions, and the alarm concurrency is ` +
        `for ${expected}: it begins too early or too late`,
      `if it says the same after the deployment, set "unreservedConcurrency": ${actual}`,
      'warning',
    ],
  ];
}

/** Beyond the quota of the account, API Gateway throttles whatever the settings say. */
export async function gatewayQuota({ region, settings }: Target): Promise<Row[]> {
  const { throttleSettings } = await new APIGateway(inRegion(region)).getAccount({});
  const { rateLimit = 0, burstLimit = 0 } = throttleSettings ?? {};
  const { rate, burst } = throttleOf(settings).login;
  const problem =
    `requestsPerSecond exceeds it: beyond ${rateLimit} requests a second, and bursts of ` +
    `${burstLimit}, clients of all APIs of the account get 429`;
  return [
    [
      rate > rateLimit,
      problem,
      `${REQUEST_QUOTA} --service-code apigateway --quota-code L-8A5B8E43 ` +
        `--desired-value ${Math.ceil(rate)} --region ${region}`,
      'warning',
    ],
    [
      // AWS sets the burst, which nobody can request.
      burst > burstLimit,
      problem,
      `lower requestsPerSecond to ${Math.floor(burstLimit / 4)}`,
      'warning',
    ],
  ];
}

export async function certificate(
  { region, settings: { edge } }: Target,
  { name, certificate: arn }: NonNullable<Settings['domain']>,
): Promise<Row[]> {
  // A wildcard stands for one label.
  const wildcard = name.replace(/^[^.]+/, '*');
  // The public logs of certificates would reveal the name of an origin.
  const requested = edge && name !== edge.hostName ? `'${wildcard}'` : name;
  const request =
    `aws acm request-certificate --domain-name ${requested} --validation-method DNS ` +
    `--region ${region}`;
  const ofArn = `--certificate-arn ${arn} --region ${region}`;
  const query = "--query 'Certificate.DomainValidationOptions[].ResourceRecord'";
  const records = `aws acm describe-certificate ${query} ${ofArn}`;
  const acm = new ACM(inRegion(region));
  const found = (await ifFound(acm.describeCertificate({ CertificateArn: arn })))?.Certificate;
  const { Status, SubjectAlternativeNames: names = [], NotAfter, Type } = found ?? {};
  const expires = NotAfter ?? new Date();
  const isImported = Type === 'IMPORTED';
  return [
    [
      !names.includes(name) && !names.includes(wildcard),
      found
        ? `is for ${names.join(', ')} only, so no client could connect`
        : 'does not exist, so the deployment fails',
      request,
    ],
    [
      Status !== 'ISSUED',
      `has the status ${Status}, so the deployment fails; while it is pending, its record in DNS ` +
        'is missing',
      records,
    ],
    [
      expires.getTime() <= Date.now() + EXPIRY_NOTICE_DAYS * MILLISECONDS_PER_DAY,
      `expires at ${expires.toISOString()}, and then no client can connect` +
        (isImported ? '' : ': ACM could not renew it, often because its record in DNS is missing'),
      isImported ? `aws acm import-certificate ${ofArn}` : records,
      'warning',
    ],
  ];
}

/** Reads the secret, but prints only its hash. */
export async function edgeSecret(
  { region }: Target,
  { secret: name, secretHashes }: NonNullable<Settings['edge']>,
): Promise<Row[]> {
  const secrets = new SecretsManager(inRegion(region));
  const found = await ifFound(secrets.getSecretValue({ SecretId: name }));
  const value = found?.SecretString ?? '';
  const hash = createHash('sha256').update(value).digest('hex');
  const create = (name: string) =>
    `aws secretsmanager create-secret --name ${name} --secret-string "$(openssl rand -hex 32)" ` +
    `--region ${region}`;
  return [
    [!found, 'does not exist, so the deployment of the edge fails', create(name)],
    [
      !/^[0-9a-f]{64}$/.test(value),
      'is not 64 hexadecimal digits, so it might be guessed: create another, and name it in edge',
      create('NAME'),
    ],
    [
      !secretHashes.includes(hash),
      `has the SHA-256 hash ${hash}, which secretHashes does not contain, so every request ends ` +
        'with 403',
      'add it to secretHashes, and deploy it before the edge sends this secret',
    ],
  ];
}

/** Without the advanced features, which older accounts must enable, nothing is copied. */
export async function copiesBackups({ region }: Target): Promise<Row[]> {
  const account = await new Backup(inRegion(region)).describeRegionSettings({});
  return [
    [
      account.ResourceTypeManagementPreference?.DynamoDB === false,
      'its advanced features for DynamoDB are off, so backups cannot be copied to another region',
      'aws backup update-region-settings --resource-type-management-preference DynamoDB=true ' +
        `--region ${region}`,
    ],
  ];
}

/** The logical id of the topic that the stack creates for an address. */
export const ALARM_TOPIC = 'AlarmsTopic3A2DFEBA';

/** Somebody must have confirmed a subscription to the topic, which the stack may have created. */
export async function alarmTopic({ region, stack }: Target, alarms: string): Promise<Row[]> {
  const isTopic = alarms.startsWith('arn:');
  const TopicArn = isTopic ? alarms : (await stack())?.resources.get(ALARM_TOPIC);
  if (TopicArn === undefined) return [];
  const found = await ifFound(new SNS(inRegion(region)).getTopicAttributes({ TopicArn }));
  return [
    [
      !found,
      'the topic does not exist, so alarms reach nobody',
      `aws sns create-topic --name ${TopicArn.split(':').at(-1)} --region ${region}`,
    ],
    [
      !Number(found?.Attributes?.SubscriptionsConfirmed),
      'nobody has confirmed a subscription, so alarms reach nobody',
      `aws sns subscribe --topic-arn ${TopicArn} --protocol email ` +
        `--notification-endpoint ${isTopic ? 'ADDRESS' : alarms} --region ${region}`,
    ],
  ];
}
