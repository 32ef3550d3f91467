import { createHash } from 'node:crypto';
import { ACM } from '@aws-sdk/client-acm';
import { APIGateway } from '@aws-sdk/client-api-gateway';
import { Backup } from '@aws-sdk/client-backup';
import { CloudTrail, type GetEventSelectorsResponse, type Trail } from '@aws-sdk/client-cloudtrail';
import { Lambda } from '@aws-sdk/client-lambda';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { SESv2 } from '@aws-sdk/client-sesv2';
import { SNS } from '@aws-sdk/client-sns';
import { SSM } from '@aws-sdk/client-ssm';
import { MILLISECONDS_PER_DAY } from '../../../lib/audit/audit-entry.ts';
import { EXPIRY_NOTICE_DAYS, publicHostName } from '../../settings/host-names.ts';
import * as limits from '../../settings/limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { ifFound, inRegion } from '../account.ts';
import { type Finding, type Found, missing, type Target, warning } from './check.ts';

/* What a deployment needs, but does not create. */

/** What the cloud assembly requires (`requiresBootstrapStackVersion` in its manifest). */
export const BOOTSTRAP_VERSION = 6;

export async function bootstrap({ environment, region }: Target): Found {
  const Name = '/cdk-bootstrap/hnb659fds/version';
  const { Parameter } = (await ifFound(new SSM(inRegion(region)).getParameter({ Name }))) ?? {};
  const state = Parameter ? `has the version ${Parameter.Value}` : 'was not done';
  if (Number(Parameter?.Value ?? 0) < BOOTSTRAP_VERSION)
    return missing`${state}, but every deployment requires version ${BOOTSTRAP_VERSION}
      npx cdk bootstrap -c env=${environment}`;
}

/** SES uses the identity of the address if there is one, otherwise the identity of its domain. */
export async function sender({ region, settings: { mail } }: Target): Found {
  const domain = mail.sender.slice(mail.sender.indexOf('@') + 1);
  const ses = new SESv2(inRegion(region));
  const ofAddress = await ifFound(ses.getEmailIdentity({ EmailIdentity: mail.sender }));
  const ofDomain = await ifFound(ses.getEmailIdentity({ EmailIdentity: domain }));
  const { VerifiedForSendingStatus, MailFromAttributes, ConfigurationSetName } =
    ofAddress ?? ofDomain ?? {};
  const rejects = 'so SES rejects every mail';
  if (ofAddress && !VerifiedForSendingStatus)
    return missing`the address is not verified, ${rejects}: confirm the mail that AWS sends to it
      aws ses verify-email-identity --email-address ${mail.sender} --region ${region}`;
  if (ConfigurationSetName && !mail.configurationSet)
    return missing`its identity has the default configuration set ${ConfigurationSetName}, with
      which functions may not send, ${rejects}
      set "configurationSet": "${ConfigurationSetName}" in mail`;
  // DMARC requires the sender's own domain in DKIM or in MAIL FROM, whose default is amazonses.com.
  const hasMailFrom = MailFromAttributes?.MailFromDomainStatus === 'SUCCESS';
  const command = ofDomain
    ? "get-email-identity --query 'DkimAttributes.[Status,Tokens]'"
    : 'create-email-identity';
  let unsigned = ofAddress ? 'so mails fail DMARC, and receivers reject or hide them' : rejects;
  if (ofAddress && hasMailFrom) unsigned = 'so DMARC depends on the MAIL FROM domain alone';
  if (ofDomain?.DkimAttributes?.Status !== 'SUCCESS' || !VerifiedForSendingStatus)
    return (ofAddress ? warning : missing)`${domain} is not verified by DKIM, ${unsigned}:
      publish the CNAME records of its tokens
      aws sesv2 ${command} --email-identity ${domain} --region ${region}`;
  const identity = `--email-identity ${ofAddress ? mail.sender : domain} --region ${region}`;
  const setMailFrom = 'put-email-identity-mail-from-attributes';
  if (!hasMailFrom)
    return warning`DMARC depends on DKIM alone, because there is no MAIL FROM domain
      aws sesv2 ${setMailFrom} --mail-from-domain bounce.${domain} ${identity}`;
}

/** The account of SES, with the configuration set of the settings. */
export async function ses({ region, settings }: Target): Found {
  const ses = new SESv2(inRegion(region));
  const { linkBase, configurationSet: set } = settings.mail;
  if (set && !(await ifFound(ses.getConfigurationSet({ ConfigurationSetName: set }))))
    return missing`has no configuration set ${set}, so it rejects every mail
      aws sesv2 create-configuration-set --configuration-set-name ${set} --region ${region}`;
  const { ProductionAccessEnabled, SendingEnabled } = await ses.getAccount({});
  // API Gateway chooses a host name only at the first deployment.
  const host = `https://${publicHostName(settings) ?? 'WEBSITE'}`;
  const site = `--website-url ${linkBase ? new URL(linkBase).origin : host} --region ${region}`;
  if (!ProductionAccessEnabled)
    return missing`is in the sandbox: only verified addresses receive mail, and functions may use
      only the identities of the sender and its domain, which SES requires for recipients as well
      aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL ${site}`;
  if (!SendingEnabled)
    return missing`its sending is paused, so nobody receives mail
      aws sesv2 put-account-sending-attributes --sending-enabled --region ${region}`;
}

const REQUEST_QUOTA = 'aws service-quotas request-service-quota-increase';

/** Any single route must reach the rate of its throttle, and the alarm know what is shared. */
export async function lambdaQuota({ region, settings, stack }: Target): Found {
  const { loginConcurrency, alarms } = settings;
  const { AccountLimit: limit } = await new Lambda(inRegion(region)).getAccountSettings({});
  const { ConcurrentExecutions: quota = 0, UnreservedConcurrentExecutions: actual } = limit ?? {};
  const { rate } = limits.throttleOf(settings)[loginConcurrency ? 'all' : 'login'];
  const shared = Math.ceil(rate / limits.INSTANCE_REQUESTS_PER_SECOND);
  const reserved = limits.reservedConcurrency(loginConcurrency);
  const needed = reserved + Math.max(limits.UNRESERVED_MIN, shared);
  const fails = loginConcurrency ? 'the deployment fails' : 'beyond it, requests end with 503';
  const ofQuota = `--service-code lambda --quota-code L-B99A9384 --region ${region}`;
  if (quota < needed)
    return missing`the quota is ${quota}, but this environment needs ${needed}: ${fails}
      ${REQUEST_QUOTA} --desired-value ${Math.max(needed, limits.CONCURRENCY_QUOTA)} ${ofQuota}`;
  const expected = limits.sharedExecutions(settings);
  // Before the first deployment, its own reservations are still part of what is shared.
  if (alarms && actual !== expected && (await stack())?.resources.has('Table'))
    return warning`functions without a reservation share ${actual} executions, and the alarm
      concurrency is for ${expected}: it begins too early or too late
      if it says the same after the deployment, set "unreservedConcurrency": ${actual}`;
}

/** Beyond the quotas of the account, API Gateway throttles whatever the settings say. */
export async function gatewayQuota({ region, settings }: Target): Found {
  const { throttleSettings } = await new APIGateway(inRegion(region)).getAccount({});
  const { rateLimit = 0, burstLimit = 0 } = throttleSettings ?? {};
  const { rate, burst } = limits.throttleOf(settings).login;
  const ofQuota = `--service-code apigateway --quota-code L-8A5B8E43 --region ${region}`;
  // AWS sets the burst, which nobody can request.
  let remedy = `lower requestsPerSecond to ${Math.floor(burstLimit / 4)}`;
  if (rate > rateLimit) remedy = `${REQUEST_QUOTA} --desired-value ${Math.ceil(rate)} ${ofQuota}`;
  if (rate > rateLimit || burst > burstLimit)
    return warning`requestsPerSecond exceeds it: beyond ${rateLimit} requests a second, and bursts
      of ${burstLimit}, clients of all APIs of the account get 429
      ${remedy}`;
}

export async function certificate(
  { region, settings: { edge } }: Target,
  { name, certificate: arn }: NonNullable<Settings['domain']>,
): Found {
  const acm = new ACM(inRegion(region));
  const found = (await ifFound(acm.describeCertificate({ CertificateArn: arn })))?.Certificate;
  const { Status, SubjectAlternativeNames: names = [], NotAfter, Type } = found ?? {};
  const state = found ? `is for ${names.join(', ')} only` : 'does not exist';
  // A wildcard stands for one label.
  const wildcard = name.replace(/^[^.]+/, '*');
  // The public logs of certificates would reveal the name of an origin.
  const requested = edge && name !== edge.hostName ? `'${wildcard}'` : name;
  const request = `--validation-method DNS --domain-name ${requested} --region ${region}`;
  if (!names.includes(name) && !names.includes(wildcard))
    return missing`${state}, so no client could connect
      aws acm request-certificate ${request}`;
  const ofArn = `--certificate-arn ${arn} --region ${region}`;
  const query = "--query 'Certificate.DomainValidationOptions[].ResourceRecord'";
  const records = `aws acm describe-certificate ${query} ${ofArn}`;
  if (Status !== 'ISSUED')
    return missing`has the status ${Status}, so the deployment fails; while it is pending, its
      record in DNS is missing
      ${records}`;
  if (Number(NotAfter) <= Date.now() + EXPIRY_NOTICE_DAYS * MILLISECONDS_PER_DAY)
    return warning`expires at ${NotAfter?.toISOString()}, and then no client can connect; ACM renews
      its own while their records are in DNS
      ${Type === 'IMPORTED' ? `aws acm import-certificate ${ofArn}` : records}`;
}

/** Reads the secret, but prints only its hash. */
export async function secret(
  { region }: Target,
  { secret: SecretId, secretHashes }: NonNullable<Settings['edge']>,
): Found {
  const found = await ifFound(new SecretsManager(inRegion(region)).getSecretValue({ SecretId }));
  const create = `--secret-string "$(openssl rand -hex 32)" --region ${region}`;
  const value = found?.SecretString ?? '';
  if (!found)
    return missing`does not exist, so the deployment of the edge fails
      aws secretsmanager create-secret --name ${SecretId} ${create}`;
  if (!/^[0-9a-f]{64}$/.test(value))
    return missing`is not 64 hexadecimal digits, so it might be guessed: create another, and name it
      in edge
      aws secretsmanager create-secret --name NAME ${create}`;
  const hash = createHash('sha256').update(value).digest('hex');
  if (!secretHashes.includes(hash))
    return missing`has the SHA-256 hash ${hash}, which secretHashes does not contain, so every
      request ends with 403
      add it to secretHashes, and deploy it before the edge sends this secret`;
}

/** Without the advanced features, which older accounts must enable, nothing is copied. */
export async function copiesBackups({ region }: Target): Found {
  const account = await new Backup(inRegion(region)).describeRegionSettings({});
  const preference = `--resource-type-management-preference DynamoDB=true --region ${region}`;
  if (account.ResourceTypeManagementPreference?.DynamoDB === false)
    return missing`its advanced features for DynamoDB are off, so backups cannot be copied to
      another region
      aws backup update-region-settings ${preference}`;
}

/** The logical id of the topic that the stack creates for an address. */
export const ALARM_TOPIC = 'AlarmsTopic3A2DFEBA';

/** Somebody must have confirmed a subscription to the topic, which the stack may have created. */
export async function topic({ region, stack }: Target, alarms: string): Found {
  const isTopic = alarms.startsWith('arn:');
  const TopicArn = isTopic ? alarms : (await stack())?.resources.get(ALARM_TOPIC);
  if (TopicArn === undefined) return;
  const found = await ifFound(new SNS(inRegion(region)).getTopicAttributes({ TopicArn }));
  if (!found)
    return missing`the topic does not exist, so alarms reach nobody
      aws sns create-topic --name ${TopicArn.split(':').at(-1)} --region ${region}`;
  const to = `--notification-endpoint ${isTopic ? 'ADDRESS' : alarms} --region ${region}`;
  if (!Number(found?.Attributes?.SubscriptionsConfirmed))
    return missing`nobody has confirmed a subscription, so alarms reach nobody
      aws sns subscribe --topic-arn ${TopicArn} --protocol email ${to}`;
}

/**
 * The services whose changes the rules report
 * (infra/stack/constructs/watched-and-forwarded-events.ts).
 */
const WATCHED = ['kms', 'dynamodb', 'backup'].map((service) => `${service}.amazonaws.com`);

/** One trail must record what the rules about keys, table and backups report. */
export async function trail({ region }: Target): Found {
  const cloudTrail = new CloudTrail(inRegion(region));
  const { trailList = [] } = await cloudTrail.describeTrails({});
  const findings: Finding[] = [];
  for (const trail of trailList) {
    const finding = await check(cloudTrail, trail);
    if (!finding) return;
    findings.push(finding);
  }
  const update = 'aws cloudtrail update-trail --is-multi-region-trail --name ARN';
  const none = missing`there is no trail in ${region}: nobody is told of changes of keys and table
    create one of all regions, or let one of another region be of all: ${update}`;
  // A trail that cannot be read may be complete.
  return findings.find(({ severity }) => severity === 'WARNING') ?? findings[0] ?? none;
}

async function check(cloudTrail: CloudTrail, trail: Trail): Found {
  const { TrailARN: arn, HomeRegion, IsOrganizationTrail } = trail;
  const ofArn = `${arn} --region ${HomeRegion}`;
  try {
    const { IsLogging } = await cloudTrail.getTrailStatus({ Name: arn });
    if (!IsLogging)
      return missing`${arn} does not log: nobody is told of changes of keys and table
        aws cloudtrail start-logging --name ${ofArn}`;
    const read = `aws cloudtrail get-event-selectors --trail-name ${ofArn}`;
    const selectors = await cloudTrail.getEventSelectors({ TrailName: arn });
    if (!recordsChanges(selectors))
      return missing`${arn} does not record the changes of KMS, DynamoDB and AWS Backup: nobody is
        told of them
        let its event selectors include all management events: ${read}`;
  } catch (error) {
    // It is listed in the accounts of the organization, which may not read all of it.
    if (!IsOrganizationTrail) throw error;
    return warning`${arn} belongs to the organization, and cannot be read from here
      ask its owner whether it records all changes of KMS, DynamoDB and AWS Backup`;
  }
}

/** Whether the selectors of a trail include every change of the services that are watched. */
function recordsChanges(selectors: GetEventSelectorsResponse): boolean {
  const { EventSelectors = [], AdvancedEventSelectors = [] } = selectors;
  const includesWatched = (sources: readonly string[] = []) =>
    sources.some((source) => WATCHED.includes(source));
  return (
    EventSelectors.some(
      ({ IncludeManagementEvents, ReadWriteType, ExcludeManagementEventSources: excluded }) =>
        IncludeManagementEvents && ReadWriteType !== 'ReadOnly' && !includesWatched(excluded),
    ) ||
    AdvancedEventSelectors.some(({ FieldSelectors = [] }) =>
      FieldSelectors.every(
        ({ Field, Equals = [], NotEquals }) =>
          (Field === 'eventCategory' && Equals.includes('Management')) ||
          (Field === 'readOnly' && Equals.includes('false')) ||
          (Field === 'eventSource' && Equals.length === 0 && !includesWatched(NotEquals)),
      ),
    )
  );
}
