import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import * as v from 'valibot';
import { count, flag, isHttpUrl, matching, setting } from './setting.ts';
import { TRANSPORTS } from './transport.ts';

/* Where an environment is deployed and how, what outlives it, and who learns of its alarms. */

/** The tag of all resources of an environment, by which costs are told apart. */
export const ENVIRONMENT_TAG = 'gatehouse:environment';

export const stackName = (environment: string): string => `Gatehouse-${environment}`;

export const regionName = v.pipe(
  v.string(),
  // A region that is newer than the installed CDK requires an update of the CDK.
  v.check(
    (region) => RegionInfo.regions.some(({ name }) => name === region),
    'must be the name of an AWS region, such as eu-central-1',
  ),
);

/** The partition of the commercial regions. */
export const isCommercial = (region: string): boolean => RegionInfo.get(region).partition === 'aws';

const retentionDays = v.picklist(
  Object.values(RetentionDays).filter((days) => typeof days === 'number'),
);

const isTopicOrAddress = (recipient: string): boolean =>
  /^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/.test(recipient) ||
  v.is(v.pipe(v.string(), v.email()), recipient);

/** The alarms that stop a canary and roll it back: a bad deployment raises them within minutes. */
export const CANARY_ALARMS = ['server-errors', 'defects', 'failed-invocations'] as const;

/** Where an environment is deployed, what outlives it, and who learns of its alarms. */
export const environmentSettings = {
  account: v.optional(
    setting(
      'The AWS account of the environment: no command deploys it to another, or reads another. ' +
        'Required with `keepData`.',
      matching(/^\d{12}$/, 'must be the 12 digits of an AWS account'),
      { example: '111122223333' },
    ),
  ),
  region: setting(
    'Where the stack is deployed. Set here, so that a synthesis needs no AWS account.',
    v.pipe(
      regionName,
      v.check(
        (region) => /^aws(-cn|-us-gov)?$/.test(RegionInfo.get(region).partition ?? ''),
        'must be in the partition aws, aws-cn or aws-us-gov: in others, CloudFormation accepts ' +
          'no role of an integration of API Gateway',
      ),
    ),
  ),
  keepData: flag(
    'Enables deletion protection and point-in-time recovery, and retains table, keys and ' +
      'logs when the stack is deleted.',
    true,
  ),
  logRetentionDays: v.optional(
    setting(
      'The retention period of log groups without a setting of their own; 9999 keeps the logs forever.',
      retentionDays,
      {
        unit: 'days',
      },
    ),
    365,
  ),
  auditDays: v.optional(
    v.pipe(
      count('days', 'The retention period of the audit trail.'),
      v.maxValue(
        3653,
        'must not exceed 3653, which is ten years: a list may query each month of the period',
      ),
    ),
    730,
  ),
  auditLogDays: v.optional(
    setting(
      'Also writes the audit trail to [a log](operating.md#the-audit-trail-in-another-system), ' +
        'which keeps it for that many days; 9999 keeps it forever. Without it, the trail is in ' +
        'the table only.',
      retentionDays,
      { unit: 'days', example: 1827 },
    ),
  ),
  dailyVerification: flag(
    'Deploys a function that [verifies the table](operating.md#daily-verification) once a ' +
      'day. Without it, no function may scan the table.',
    false,
  ),
  alarms: v.optional(
    setting(
      'Who learns of the [alarms](runbook.md): the ARN of an SNS topic in the account and ' +
        'region of the environment, or an e-mail address, whose owner must confirm the ' +
        'subscription. Required with `keepData`; without it, there are no alarms.',
      v.pipe(
        v.string(),
        v.check(isTopicOrAddress, 'must be the ARN of an SNS topic or an e-mail address'),
      ),
      { example: 'arn:aws:sns:eu-central-1:123456789012:operators' },
    ),
  ),
  runbookUrl: v.optional(
    setting(
      'Where the recipients of alarms find [the runbook](runbook.md): a URL to which each alarm ' +
        'appends `#` and the name of its section. Without it, alarms name the file.',
      v.pipe(
        v.string(),
        v.check((url) => isHttpUrl(url) && !url.includes('#'), 'must be a URL without #'),
        v.maxLength(300, 'must have 300 characters at most, as descriptions of alarms are limited'),
      ),
      { example: 'https://wiki.example.com/gatehouse/runbook' },
    ),
  ),
  monthlyBudget: v.optional(
    setting(
      'What the environment may cost in a month: [a budget](deploying.md#a-budget) notifies the ' +
        'recipient of `alarms` of 80% and of a forecast beyond it, and bounds nothing. ' +
        'CloudFormation does not offer it in every region.',
      v.pipe(v.number(), v.integer(), v.minValue(1)),
      { unit: 'US dollars', example: 100 },
    ),
  ),
  deployment: v.optional(
    setting(
      'How new code of the functions gets requests: all at once, or after a ' +
        '[canary](deploying-a-change.md#the-canary), which gives the new code of four functions ' +
        'a tenth of the requests for ten minutes and rolls back on alarms.',
      v.picklist(['all-at-once', 'canary']),
    ),
    'all-at-once',
  ),
  transport: v.optional(
    setting(
      'What functions call AWS with: the transport of this project, or the AWS SDK ' +
        '([ADR 5](adr/0005-libraries.md#the-transport-of-functions)).',
      v.picklist(TRANSPORTS),
    ),
    'minimal',
  ),
};
