import { createHash } from 'node:crypto';
import {
  GetAccountCommand,
  GetConfigurationSetCommand,
  GetEmailIdentityCommand,
} from '@aws-sdk/client-sesv2';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';
import type { Settings } from '../../settings/settings.ts';
import type { AwsReader } from './aws-reader.ts';

/** What an environment needs of AWS before its deployment. */
interface Check {
  readonly name: string;
  /** Returns what is missing, or undefined. */
  readonly missing: () => Promise<Missing | undefined>;
}

/** What is missing, and how an operator provides it. */
interface Missing {
  readonly problem: string;
  /** A command, or an instruction where there is none. */
  readonly remedy: string;
}

/** The checks of an environment. */
export function checksOf(
  environment: string,
  settings: Settings,
  readerOf: (region: string) => AwsReader,
): Check[] {
  const {
    mail,
    loginConcurrency,
    domain,
    alarms,
    edge,
    existing: { table, tableStream } = {},
  } = settings;
  const aws = readerOf(settings.region);
  // The stack itself creates the topic of an e-mail address.
  const topic = alarms?.startsWith('arn:') ? alarms : undefined;
  return [
    { name: 'CDK bootstrap', missing: () => bootstrap(environment, aws) },
    { name: `sender ${mail.sender}`, missing: () => sender(mail, aws) },
    ...(mail.configurationSet
      ? [
          {
            name: `configuration set ${mail.configurationSet}`,
            missing: () => configurationSet(mail, aws),
          },
        ]
      : []),
    { name: 'SES outside of the sandbox', missing: () => sandbox(mail, aws) },
    { name: 'Lambda concurrency', missing: () => concurrency(loginConcurrency, aws) },
    ...(domain
      ? [
          {
            name: `certificate for ${domain.name}`,
            // The public logs of certificates would reveal the name of an origin.
            missing: () =>
              certificate(
                domain.name,
                domain.certificate,
                aws,
                edge ? `'${wildcardOf(domain.name)}'` : domain.name,
              ),
          },
        ]
      : []),
    ...(table
      ? [{ name: `stream of ${table}`, missing: () => stream(table, tableStream, aws) }]
      : []),
    ...(topic ? [{ name: `alarm topic ${topic}`, missing: () => alarmTopic(topic, aws) }] : []),
    ...(edge ? checksOfEdge(environment, edge, readerOf(EDGE_REGION)) : []),
  ];
}

/** The id of the account of the operator's credentials. No permission is needed to read it. */
export async function accountOf(aws: AwsReader): Promise<string> {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = 'Action=GetCallerIdentity&Version=2011-06-15';
  const [, account] =
    /<Account>(\d+)<\/Account>/.exec(await aws.read({ service: 'sts', headers, body })) ?? [];
  if (account === undefined) throw new Error('STS does not name the account of the credentials.');
  return account;
}

function checksOfEdge(environment: string, edge: Edge, aws: AwsReader): Check[] {
  const { hostName } = edge;
  return [
    { name: `CDK bootstrap in ${aws.region}`, missing: () => bootstrap(environment, aws) },
    {
      name: `certificate for ${hostName}`,
      missing: () => certificate(hostName, edge.certificate, aws),
    },
    { name: `secret ${edge.secret}`, missing: () => secret(environment, edge, aws) },
  ];
}

type Edge = NonNullable<Settings['edge']>;

/**
 * The version that the cloud assembly requires (`requiresBootstrapStackVersion` in its manifest).
 */
export const BOOTSTRAP_VERSION = 6;

async function bootstrap(environment: string, aws: AwsReader): Promise<Missing | undefined> {
  const remedy = `npx cdk bootstrap -c env=${environment}`;
  const text = await ifFound('ParameterNotFound', () =>
    aws.read({
      service: 'ssm',
      headers: {
        'Content-Type': 'application/x-amz-json-1.1',
        'X-Amz-Target': 'AmazonSSM.GetParameter',
      },
      body: JSON.stringify({ Name: '/cdk-bootstrap/hnb659fds/version' }),
    }),
  );
  if (text === undefined) return { problem: 'not done in this account and region', remedy };
  const version = Number(JSON.parse(text).Parameter?.Value);
  if (version >= BOOTSTRAP_VERSION) return undefined;
  return { problem: `version ${version} is older than ${BOOTSTRAP_VERSION}`, remedy };
}

/** SES uses the identity of the address if there is one, otherwise that of its domain. */
async function sender(
  { sender, configurationSet }: Settings['mail'],
  aws: AwsReader,
): Promise<Missing | undefined> {
  const { ses, region } = aws;
  const domain = sender.slice(sender.indexOf('@') + 1);
  const find = (EmailIdentity: string) =>
    ifFound('NotFoundException', () => ses.send(new GetEmailIdentityCommand({ EmailIdentity })));
  const ofAddress = await find(sender);
  const identity = ofAddress ?? (await find(domain));
  const name = ofAddress ? sender : domain;
  if (!identity) {
    return {
      problem: 'neither the address nor its domain is an identity of SES',
      remedy: `aws sesv2 create-email-identity --email-identity ${domain} --region ${region}`,
    };
  }
  if (!identity.VerifiedForSendingStatus) {
    const query = 'DkimAttributes.[Status,Tokens]';
    return {
      problem:
        `the identity ${name} is not verified: confirm the mail, or publish the CNAME records ` +
        `of its tokens`,
      remedy:
        `aws sesv2 get-email-identity --email-identity ${name} --region ${region} ` +
        `--query '${query}'`,
    };
  }
  const byDefault = identity.ConfigurationSetName;
  if (!byDefault || configurationSet) return undefined;
  return {
    problem:
      `the identity ${name} has the default configuration set ${byDefault}, with which ` +
      `functions may not send`,
    remedy: `set "configurationSet": "${byDefault}" in mail`,
  };
}

async function configurationSet(
  { configurationSet: name }: Settings['mail'],
  { ses, region }: AwsReader,
) {
  const found = await ifFound('NotFoundException', () =>
    ses.send(new GetConfigurationSetCommand({ ConfigurationSetName: name })),
  );
  if (found) return undefined;
  return {
    problem: 'does not exist',
    remedy:
      `aws sesv2 create-configuration-set --configuration-set-name ${name} ` + `--region ${region}`,
  };
}

async function sandbox(
  { linkBase }: Settings['mail'],
  { ses, region }: AwsReader,
): Promise<Missing | undefined> {
  const { ProductionAccessEnabled, SendingEnabled } = await ses.send(new GetAccountCommand({}));
  if (!ProductionAccessEnabled) {
    const url = new URL(linkBase).origin;
    return {
      problem: 'the account is in the sandbox, from which only verified addresses receive mail',
      remedy:
        `aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL ` +
        `--website-url ${url} --region ${region}`,
    };
  }
  if (SendingEnabled) return undefined;
  return {
    problem: 'sending is paused for the account',
    remedy: `aws sesv2 put-account-sending-attributes --sending-enabled --region ${region}`,
  };
}

/** The functions with reserved concurrency, and what Lambda keeps unreserved for all others. */
const RESERVING_FUNCTIONS = 3;
const UNRESERVED_MIN = 100;

async function concurrency(
  loginConcurrency: number | undefined,
  aws: AwsReader,
): Promise<Missing | undefined> {
  const { AccountLimit } = JSON.parse(
    await aws.read({ service: 'lambda', path: '/2016-08-19/account-settings' }),
  );
  const quota: number = AccountLimit.ConcurrentExecutions;
  if (loginConcurrency === undefined) return undefined;
  const needed = RESERVING_FUNCTIONS * loginConcurrency + UNRESERVED_MIN;
  if (quota >= needed) return undefined;
  return {
    problem:
      `the quota is ${quota}, but ${RESERVING_FUNCTIONS} × loginConcurrency + ` +
      `${UNRESERVED_MIN} is ${needed}`,
    remedy:
      `aws service-quotas request-service-quota-increase --service-code lambda --quota-code ` +
      `L-B99A9384 --desired-value ${needed} --region ${aws.region}`,
  };
}

async function certificate(
  name: string,
  arn: string,
  aws: AwsReader,
  requested = name,
): Promise<Missing | undefined> {
  const request =
    `aws acm request-certificate --domain-name ${requested} --validation-method DNS --region ` +
    `${aws.region}`;
  const text = await ifFound('ResourceNotFoundException', () =>
    aws.read({
      service: 'acm',
      headers: {
        'Content-Type': 'application/x-amz-json-1.1',
        'X-Amz-Target': 'CertificateManager.DescribeCertificate',
      },
      body: JSON.stringify({ CertificateArn: arn }),
    }),
  );
  if (text === undefined) return { problem: 'does not exist', remedy: request };
  const { Status, SubjectAlternativeNames = [] } = JSON.parse(text).Certificate;
  const names = SubjectAlternativeNames as string[];
  if (!names.some((other) => other === name || other === wildcardOf(name)))
    return { problem: `is for ${names.join(', ')} only`, remedy: request };
  if (Status === 'ISSUED') return undefined;
  const records = 'Certificate.DomainValidationOptions[].ResourceRecord';
  return {
    problem: `has the status ${Status}; while it is pending, its record in DNS is missing`,
    remedy:
      `aws acm describe-certificate --certificate-arn ${arn} --region ${aws.region} --query ` +
      `'${records}'`,
  };
}

/** The stream of a table that the stack adopts; the stack enables that of its own table. */
async function stream(
  table: string,
  configured: string | undefined,
  aws: AwsReader,
): Promise<Missing | undefined> {
  const text = await ifFound('ResourceNotFoundException', () =>
    aws.read({
      service: 'dynamodb',
      headers: {
        'Content-Type': 'application/x-amz-json-1.0',
        'X-Amz-Target': 'DynamoDB_20120810.DescribeTable',
      },
      body: JSON.stringify({ TableName: table }),
    }),
  );
  if (text === undefined)
    return { problem: 'the table does not exist', remedy: 'correct existing.table' };
  const { StreamSpecification, LatestStreamArn } = JSON.parse(text).Table;
  const { StreamEnabled, StreamViewType } = StreamSpecification ?? {};
  if (StreamEnabled && StreamViewType === 'KEYS_ONLY') {
    if (LatestStreamArn === configured) return undefined;
    // A stream that is enabled again has another ARN; the former one receives nothing.
    return { problem: `is ${LatestStreamArn}`, remedy: 'set existing.tableStream to this ARN' };
  }
  // Not `npm run adopt`, which would end the sessions of a table in service.
  const updateTo = (specification: string) =>
    `aws dynamodb update-table --table-name ${table} --region ${aws.region} ` +
    `--stream-specification ${specification}`;
  if (StreamEnabled)
    return {
      problem: `has ${StreamViewType} instead of KEYS_ONLY`,
      remedy: updateTo('StreamEnabled=false'),
    };
  return {
    problem: 'is not enabled',
    remedy: updateTo('StreamEnabled=true,StreamViewType=KEYS_ONLY'),
  };
}

/** A wildcard stands for one label. */
const wildcardOf = (name: string): string => name.replace(/^[^.]+/, '*');

/** Reads the secret, but prints only its hash. */
async function secret(environment: string, { secret: name, secretHashes }: Edge, aws: AwsReader) {
  const create =
    `aws secretsmanager create-secret --name ${name} --secret-string "$(openssl rand -hex ` +
    `32)" --region ${aws.region}`;
  const text = await ifFound('ResourceNotFoundException', () =>
    aws.read({
      service: 'secretsmanager',
      headers: {
        'Content-Type': 'application/x-amz-json-1.1',
        'X-Amz-Target': 'secretsmanager.GetSecretValue',
      },
      body: JSON.stringify({ SecretId: name }),
    }),
  );
  if (text === undefined) return { problem: 'does not exist', remedy: create };
  const value = String(JSON.parse(text).SecretString);
  if (!/^[0-9a-f]{64}$/.test(value))
    return {
      problem: 'is not 64 hexadecimal digits: create one with another name',
      remedy: create,
    };
  const hash = createHash('sha256').update(value).digest('hex');
  if (secretHashes.includes(hash)) return undefined;
  return {
    problem: `has the SHA-256 hash ${hash}, which secretHashes does not contain`,
    remedy:
      `add "${hash}" to secretHashes, and deploy it before ${edgeStackName(environment)} ` +
      `sends this secret`,
  };
}

async function alarmTopic(topic: string, aws: AwsReader): Promise<Missing | undefined> {
  const body = new URLSearchParams({
    Action: 'GetTopicAttributes',
    Version: '2010-03-31',
    TopicArn: topic,
  }).toString();
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const text = await ifFound('NotFoundException', () =>
    aws.read({ service: 'sns', headers, body }),
  );
  if (text === undefined) {
    const name = topic.split(':').at(-1);
    return {
      problem: 'does not exist',
      remedy: `aws sns create-topic --name ${name} --region ${aws.region}`,
    };
  }
  const [, confirmed] =
    /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(text) ?? [];
  if (Number(confirmed) > 0) return undefined;
  return {
    problem: 'nobody has confirmed a subscription',
    remedy:
      `aws sns subscribe --topic-arn ${topic} --protocol email --notification-endpoint ` +
      `ADDRESS --region ${aws.region}`,
  };
}

/** Undefined if the request fails with this error. */
async function ifFound<T>(notFound: string, request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request();
  } catch (error) {
    if ((error as Error).name === notFound) return undefined;
    throw error;
  }
}
