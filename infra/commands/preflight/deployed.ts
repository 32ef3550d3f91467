import { CANARY_ALARMS, stackName } from '../../settings/environment.ts';
import type { Settings } from '../../settings/settings.ts';
import { type AwsReader, ifFound } from '../aws-reader.ts';

/* What is deployed already, or remains of an earlier deployment. */

/** What is missing. A warning leaves the environment ready. */
export type Missing = readonly [problem: string, remedy: string, severity?: 'warning'] | undefined;

/** What is missing first, a warning only if nothing else is missing. */
export async function firstOf(checks: readonly Promise<Missing>[]): Promise<Missing> {
  const missing = (await Promise.all(checks)).filter((one) => one !== undefined);
  return missing.find(([, , severity]) => !severity) ?? missing[0];
}

/** What the names of the log groups of a stack begin with. */
export const logGroupPrefixes = (stack: string): readonly string[] => [
  `/aws/lambda/${stack}/`,
  `/aws/vendedlogs/${stack}/`,
];

/**
 * The commands for stacks that have been complete. All others can be deleted: their creation was
 * not completed, or their deletion has begun.
 */
const COMMANDS: Readonly<Record<string, string>> = {
  UPDATE_FAILED: 'rollback-stack',
  UPDATE_ROLLBACK_FAILED: 'continue-update-rollback',
  IMPORT_ROLLBACK_FAILED: 'describe-stack-events',
};

/** Finds a stack that cannot be updated, or whose second deployment was forgotten. */
export async function stack(
  aws: AwsReader,
  environment: string,
  settings: Settings,
): Promise<Missing> {
  const name = stackName(environment);
  const xml = await describe(aws, name);
  if (xml === undefined) return colliding(aws, logGroupPrefixes(name));
  const broken = brokenStack(aws, name, xml);
  if (broken || isProtected(xml) || !settings.keepData || settings.unprotected) return broken;
  return [
    'is not protected against deletion: the second deployment is missing',
    `npm run deploy -- -c env=${environment}`,
  ];
}

/** Finds a stack of the edge or of the backups that cannot be updated, and its log groups. */
export async function otherStack(
  aws: AwsReader,
  name: string,
  logGroups: readonly string[] = [],
): Promise<Missing> {
  const xml = await describe(aws, name);
  if (xml !== undefined) return brokenStack(aws, name, xml);
  return colliding(aws, logGroups, (found) => logGroups.includes(found));
}

/** What CloudFormation states about a stack; undefined if it does not exist. */
const describe = (aws: AwsReader, StackName: string): Promise<string | undefined> =>
  ifFound(aws.read('cloudformation', 'DescribeStacks', { StackName }));

const isProtected = (xml: string): boolean =>
  xml.includes('<EnableTerminationProtection>true</EnableTerminationProtection>');

function brokenStack(aws: AwsReader, name: string, xml: string): Missing {
  const [, status = ''] = /<StackStatus>(\w+)<\/StackStatus>/.exec(xml) ?? [];
  if (!/^(ROLLBACK_COMPLETE|REVIEW_IN_PROGRESS|\w+_FAILED)$/.test(status)) return undefined;
  const problem = `has the status ${status}`;
  const { [status]: command = 'delete-stack' } = COMMANDS;
  if (command === 'delete-stack' && isProtected(xml))
    return [problem, 'remove its protections: docs/deploying.md, If the first deployment fails'];
  return [problem, aws.cli(`cloudformation ${command} --stack-name ${name}`)];
}

/** Finds log groups of an earlier stack, with whose names CloudFormation would not create new ones. */
async function colliding(
  aws: AwsReader,
  prefixes: readonly string[],
  isColliding = (_name: string) => true,
): Promise<Missing> {
  const found = await Promise.all(
    prefixes.map((logGroupNamePrefix) =>
      aws.read('logs', 'DescribeLogGroups', { logGroupNamePrefix }),
    ),
  );
  const names = found
    .flatMap(({ logGroups }) =>
      logGroups.map(({ logGroupName }: { logGroupName: string }) => logGroupName),
    )
    .filter(isColliding);
  if (names.length === 0) return undefined;
  return [
    `does not exist, but its log groups do: ${names.join(', ')}`,
    'add --import-existing-resources to the deployment, or delete them: ' +
      aws.cli('logs delete-log-group --log-group-name NAME'),
  ];
}

type Existing = Settings['existing'];

/** The name of the table that the stack has or will adopt; undefined before it is deployed. */
export async function tableOf(
  aws: AwsReader,
  environment: string,
  existing?: Existing,
): Promise<string | undefined> {
  if (existing?.table) return existing.table;
  const xml = await describe(aws, stackName(environment));
  const output = /<OutputKey>TableName<\/OutputKey>\s*<OutputValue>([^<]+)/;
  return output.exec(xml ?? '')?.[1];
}

/** The id or the ARN of a key that the stack has or will adopt; undefined before it has one. */
export async function keyOf(
  aws: AwsReader,
  environment: string,
  LogicalResourceId: string,
  existing: Existing,
): Promise<string | undefined> {
  const adopted = existing?.keys?.[LogicalResourceId];
  if (adopted) return adopted;
  const input = { StackName: stackName(environment), LogicalResourceId };
  const xml = await ifFound(aws.read('cloudformation', 'DescribeStackResource', input));
  // A creation that failed leaves the names of what was deleted.
  if (xml === undefined || /<ResourceStatus>DELETE_/.test(xml)) return undefined;
  return /<PhysicalResourceId>([^<]+)/.exec(xml)?.[1];
}

/** Finds the alarms that would stop a canary at once. */
export async function canaryAlarms(aws: AwsReader, environment: string): Promise<Missing> {
  const names = CANARY_ALARMS.map((name, index) => [
    `AlarmNames.member.${index + 1}`,
    `${stackName(environment)}-${name}`,
  ]);
  const input = { ...Object.fromEntries(names), StateValue: 'ALARM' };
  const xml: string = await aws.read('monitoring', 'DescribeAlarms', input);
  const raised = [...xml.matchAll(/<AlarmName>([^<]+)/g)].map(([, name]) => name);
  if (raised.length === 0) return undefined;
  return [
    `would be rolled back at once, because these alarms are on: ${raised.join(', ')}`,
    'end their causes (docs/runbook.md), or deploy what corrects them with -c ' +
      'deployment=all-at-once',
    'warning',
  ];
}

/** Finds out whether somebody has confirmed a subscription to a topic. */
export async function topic(aws: AwsReader, arn: string, address = 'ADDRESS'): Promise<Missing> {
  const xml = await ifFound(aws.read('sns', 'GetTopicAttributes', { TopicArn: arn }));
  if (!xml) return ['does not exist', aws.cli(`sns create-topic --name ${arn.split(':').at(-1)}`)];
  const [, confirmed] =
    /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(xml) ?? [];
  if (Number(confirmed) > 0) return undefined;
  const subscriber = `--protocol email --notification-endpoint ${address}`;
  return [
    'nobody has confirmed a subscription',
    aws.cli(`sns subscribe --topic-arn ${arn} ${subscriber}`),
  ];
}

/** The same for the topic that the stack has created, which an alarm names, if it is deployed. */
export async function ownTopic(
  aws: AwsReader,
  environment: string,
  address: string,
): Promise<Missing> {
  const alarm = { 'AlarmNames.member.1': `${stackName(environment)}-defects` };
  const xml = await aws.read('monitoring', 'DescribeAlarms', alarm);
  const [, arn] = /<AlarmActions>\s*<member>([^<]+)/.exec(xml) ?? [];
  return arn === undefined ? undefined : topic(aws, arn, address);
}
