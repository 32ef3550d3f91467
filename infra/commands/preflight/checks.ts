import { createHash } from 'node:crypto';
import {
  GetAccountCommand,
  GetConfigurationSetCommand,
  GetEmailIdentityCommand,
} from '@aws-sdk/client-sesv2';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';
import type { Settings } from '../../settings/settings.ts';
import type { AwsReader } from './aws-reader.ts';

/** What is missing, and how an operator provides it; undefined if nothing is. */
type Missing =
  | { readonly problem: string /** A command or an instruction. */; readonly remedy: string }
  | undefined;

type Checks = Readonly<Record<string, () => Promise<Missing>>>;

/** The checks of what an environment needs of AWS before its deployment, by their names. */
export function checksOf(
  environment: string,
  settings: Settings,
  readerOf: (region: string) => AwsReader,
): Checks {
  const { mail, loginConcurrency, domain, alarms, edge, existing = {} } = settings;
  const { table, tableStream } = existing;
  const aws = readerOf(settings.region);
  return {
    'CDK bootstrap': () => bootstrap(environment, aws),
    [`sender ${mail.sender}`]: () => sender(mail, aws),
    ...(mail.configurationSet && {
      [`configuration set ${mail.configurationSet}`]: () => configurationSet(mail, aws),
    }),
    'SES outside of the sandbox': () => sandbox(mail, aws),
    'Lambda concurrency': () => concurrency(loginConcurrency, aws),
    ...(domain && {
      // The public logs of certificates would reveal the name of an origin.
      [`certificate for ${domain.name}`]: () => certificate(domain, aws, edge !== undefined),
    }),
    ...(table && { [`stream of ${table}`]: () => stream(table, tableStream, aws) }),
    // The stack itself creates the topic of an e-mail address.
    ...(alarms?.startsWith('arn:') && { [`alarm topic ${alarms}`]: () => topic(alarms, aws) }),
    ...(edge && checksOfEdge(environment, edge, readerOf(EDGE_REGION))),
  };
}

type Edge = NonNullable<Settings['edge']>;

const checksOfEdge = (environment: string, edge: Edge, aws: AwsReader): Checks => ({
  [`CDK bootstrap in ${aws.region}`]: () => bootstrap(environment, aws),
  [`certificate for ${edge.hostName}`]: () =>
    certificate({ ...edge, name: edge.hostName }, aws, false),
  [`secret ${edge.secret}`]: () => secret(environment, edge, aws),
});

/** The id of the account of the operator's credentials. No permission is needed to read it. */
export async function accountOf(aws: AwsReader): Promise<string> {
  const input = { Action: 'GetCallerIdentity', Version: '2011-06-15' };
  const text = await aws.read({ service: 'sts', input });
  const [, account] = /<Account>(\d+)<\/Account>/.exec(text) ?? [];
  if (account === undefined) throw new Error('STS does not name the account of the credentials.');
  return account;
}

/**
 * The version that the cloud assembly requires (`requiresBootstrapStackVersion` in its manifest).
 */
export const BOOTSTRAP_VERSION = 6;

async function bootstrap(environment: string, aws: AwsReader): Promise<Missing> {
  const remedy = `npx cdk bootstrap -c env=${environment}`;
  const text = await ifFound('ParameterNotFound', () =>
    aws.read({
      service: 'ssm',
      target: 'AmazonSSM.GetParameter',
      input: { Name: '/cdk-bootstrap/hnb659fds/version' },
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
): Promise<Missing> {
  const domain = sender.slice(sender.indexOf('@') + 1);
  for (const name of [sender, domain]) {
    const identity = await ifFound('NotFoundException', () =>
      aws.ses.send(new GetEmailIdentityCommand({ EmailIdentity: name })),
    );
    if (!identity) continue;
    const byDefault = identity.ConfigurationSetName;
    if (!identity.VerifiedForSendingStatus) {
      const query = "--query 'DkimAttributes.[Status,Tokens]'";
      return {
        problem:
          `the identity ${name} is not verified: confirm the mail, or publish the CNAME records ` +
          'of its tokens',
        remedy: awsCli(aws, `sesv2 get-email-identity --email-identity ${name} ${query}`),
      };
    }
    if (!byDefault || configurationSet) return undefined;
    return {
      problem:
        `the identity ${name} has the default configuration set ${byDefault}, with which ` +
        'functions may not send',
      remedy: `set "configurationSet": "${byDefault}" in mail`,
    };
  }
  return {
    problem: 'neither the address nor its domain is an identity of SES',
    remedy: awsCli(aws, `sesv2 create-email-identity --email-identity ${domain}`),
  };
}

async function configurationSet(
  { configurationSet: name }: Settings['mail'],
  aws: AwsReader,
): Promise<Missing> {
  const found = await ifFound('NotFoundException', () =>
    aws.ses.send(new GetConfigurationSetCommand({ ConfigurationSetName: name })),
  );
  if (found) return undefined;
  return {
    problem: 'does not exist',
    remedy: awsCli(aws, `sesv2 create-configuration-set --configuration-set-name ${name}`),
  };
}

async function sandbox({ linkBase }: Settings['mail'], aws: AwsReader): Promise<Missing> {
  const { ProductionAccessEnabled, SendingEnabled } = await aws.ses.send(new GetAccountCommand({}));
  if (!ProductionAccessEnabled) {
    const details = `--mail-type TRANSACTIONAL --website-url ${new URL(linkBase).origin}`;
    return {
      problem: 'the account is in the sandbox, from which only verified addresses receive mail',
      remedy: awsCli(aws, `sesv2 put-account-details --production-access-enabled ${details}`),
    };
  }
  if (SendingEnabled) return undefined;
  return {
    problem: 'sending is paused for the account',
    remedy: awsCli(aws, 'sesv2 put-account-sending-attributes --sending-enabled'),
  };
}

/** The functions with reserved concurrency, and what Lambda keeps unreserved for all others. */
const RESERVING_FUNCTIONS = 3;
const UNRESERVED_MIN = 100;

async function concurrency(reserved: number | undefined, aws: AwsReader): Promise<Missing> {
  const text = await aws.read({ service: 'lambda', path: '/2016-08-19/account-settings' });
  const quota: number = JSON.parse(text).AccountLimit.ConcurrentExecutions;
  if (reserved === undefined) return undefined;
  const needed = RESERVING_FUNCTIONS * reserved + UNRESERVED_MIN;
  if (quota >= needed) return undefined;
  const request = 'service-quotas request-service-quota-increase --service-code lambda';
  return {
    problem:
      `the quota is ${quota}, but ${RESERVING_FUNCTIONS} × loginConcurrency + ` +
      `${UNRESERVED_MIN} is ${needed}`,
    remedy: awsCli(aws, `${request} --quota-code L-B99A9384 --desired-value ${needed}`),
  };
}

async function certificate(
  { name, certificate: arn }: { readonly name: string; readonly certificate: string },
  aws: AwsReader,
  isHidden: boolean,
): Promise<Missing> {
  // A wildcard stands for one label.
  const wildcard = name.replace(/^[^.]+/, '*');
  const requested = isHidden ? `'${wildcard}'` : name;
  const remedy = awsCli(
    aws,
    `acm request-certificate --domain-name ${requested} --validation-method DNS`,
  );
  const text = await ifFound('ResourceNotFoundException', () =>
    aws.read({
      service: 'acm',
      target: 'CertificateManager.DescribeCertificate',
      input: { CertificateArn: arn },
    }),
  );
  if (text === undefined) return { problem: 'does not exist', remedy };
  const { Status, SubjectAlternativeNames = [] } = JSON.parse(text).Certificate;
  const names = SubjectAlternativeNames as string[];
  if (!names.includes(name) && !names.includes(wildcard))
    return { problem: `is for ${names.join(', ')} only`, remedy };
  if (Status === 'ISSUED') return undefined;
  const query = "--query 'Certificate.DomainValidationOptions[].ResourceRecord'";
  return {
    problem: `has the status ${Status}; while it is pending, its record in DNS is missing`,
    remedy: awsCli(aws, `acm describe-certificate --certificate-arn ${arn} ${query}`),
  };
}

/** The stream of a table that the stack adopts; the stack enables that of its own table. */
async function stream(
  table: string,
  configured: string | undefined,
  aws: AwsReader,
): Promise<Missing> {
  const text = await ifFound('ResourceNotFoundException', () =>
    aws.read({
      service: 'dynamodb',
      target: 'DynamoDB_20120810.DescribeTable',
      input: { TableName: table },
    }),
  );
  if (text === undefined)
    return { problem: 'the table does not exist', remedy: 'correct existing.table' };
  const { StreamSpecification, LatestStreamArn } = JSON.parse(text).Table;
  const { StreamEnabled, StreamViewType } = StreamSpecification ?? {};
  // Not `npm run adopt`, which would end the sessions of a table in service.
  const update = (specification: string) =>
    awsCli(
      aws,
      `dynamodb update-table --table-name ${table} --stream-specification ${specification}`,
    );
  if (!StreamEnabled)
    return {
      problem: 'is not enabled',
      remedy: update('StreamEnabled=true,StreamViewType=KEYS_ONLY'),
    };
  if (StreamViewType !== 'KEYS_ONLY')
    return {
      problem: `has ${StreamViewType} instead of KEYS_ONLY`,
      remedy: update('StreamEnabled=false'),
    };
  if (LatestStreamArn === configured) return undefined;
  // A stream that is enabled again has another ARN; the former one receives nothing.
  return { problem: `is ${LatestStreamArn}`, remedy: 'set existing.tableStream to this ARN' };
}

/** Reads the secret, but prints only its hash. */
async function secret(
  environment: string,
  { secret: name, secretHashes }: Edge,
  aws: AwsReader,
): Promise<Missing> {
  const random = '--secret-string "$(openssl rand -hex 32)"';
  const remedy = awsCli(aws, `secretsmanager create-secret --name ${name} ${random}`);
  const text = await ifFound('ResourceNotFoundException', () =>
    aws.read({
      service: 'secretsmanager',
      target: 'secretsmanager.GetSecretValue',
      input: { SecretId: name },
    }),
  );
  if (text === undefined) return { problem: 'does not exist', remedy };
  const value = String(JSON.parse(text).SecretString);
  if (!/^[0-9a-f]{64}$/.test(value))
    return { problem: 'is not 64 hexadecimal digits: create one with another name', remedy };
  const hash = createHash('sha256').update(value).digest('hex');
  if (secretHashes.includes(hash)) return undefined;
  return {
    problem: `has the SHA-256 hash ${hash}, which secretHashes does not contain`,
    remedy:
      `add "${hash}" to secretHashes, and deploy it before ${edgeStackName(environment)} ` +
      'sends this secret',
  };
}

async function topic(arn: string, aws: AwsReader): Promise<Missing> {
  const input = { Action: 'GetTopicAttributes', Version: '2010-03-31', TopicArn: arn };
  const text = await ifFound('NotFoundException', () => aws.read({ service: 'sns', input }));
  if (text === undefined)
    return {
      problem: 'does not exist',
      remedy: awsCli(aws, `sns create-topic --name ${arn.split(':').at(-1)}`),
    };
  const [, confirmed] =
    /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(text) ?? [];
  if (Number(confirmed) > 0) return undefined;
  const subscriber = '--protocol email --notification-endpoint ADDRESS';
  return {
    problem: 'nobody has confirmed a subscription',
    remedy: awsCli(aws, `sns subscribe --topic-arn ${arn} ${subscriber}`),
  };
}

const awsCli = ({ region }: AwsReader, command: string): string =>
  `aws ${command} --region ${region}`;

/** Undefined if the request fails with this error. */
async function ifFound<T>(notFound: string, request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request();
  } catch (error) {
    if ((error as Error).name === notFound) return undefined;
    throw error;
  }
}
