import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { requireAccount, requireKnownAccount } from '../../infra/commands/account.ts';
import { ALARM_TOPIC, BOOTSTRAP_VERSION } from '../../infra/commands/deploy/check-account.ts';
import { MAPPINGS } from '../../infra/commands/deploy/check-deployed.ts';
import { checksOf } from '../../infra/commands/deploy/preflight.ts';
import { edgeDescription } from '../../infra/settings/edge.ts';
import { keyIds } from '../../infra/settings/keys.ts';
import type { Settings } from '../../infra/settings/settings.ts';
import { runCommand } from '../support/commands/run-command.ts';
import { type Input, type ScriptedResponse, scriptedAws } from '../support/doubles/scripted-aws.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { templateOf } from '../support/stack/stack.ts';

/* `npm run admin -- preflight` on a scripted AWS: everything ready, then each piece missing. */

const ROOT = join(import.meta.dirname, '../..');
const SECRET = '5f'.repeat(32);
const SECRET_HASH = createHash('sha256').update(SECRET).digest('hex');
const SETTINGS: Settings = {
  ...OTHER_SETTINGS,
  loginConcurrency: 100,
  edge: { ...OTHER_SETTINGS.edge, secretHashes: ['a0'.repeat(32), SECRET_HASH] },
};
const KEPT = { ...SETTINGS, keepData: true, unprotected: false };
const KEYS = keyIds(SETTINGS);
const KEY_ARN = 'arn:aws:kms:eu-north-1:1:key/mrk-2';
const streamOf = (table: string) => `arn:aws:dynamodb:eu-north-1:1:table/${table}/stream/1`;

/** Responses by operations, which begin with the region if it is not the environment's. */
type Script = Record<string, ScriptedResponse | ((input: Input) => ScriptedResponse)>;

const NOT_FOUND = { error: 'NotFoundException', message: 'not found' };
const NO_RESOURCE = { error: 'ResourceNotFoundException' };
const NO_PARAMETER = { error: 'ParameterNotFound' };
const NO_STACK = { error: 'ValidationError', message: 'Stack with id Gatehouse does not exist' };

const version = (Value: number) => ({ Parameter: { Value: String(Value) } });
const stack = (StackStatus: string, EnableTerminationProtection = true, Description = '') => ({
  Stacks: [
    {
      StackName: 'moon',
      CreationTime: '2030-01-01T00:00:00Z',
      StackStatus,
      EnableTerminationProtection,
      Description,
    },
  ],
});
/** Resources by their logical ids; physical ids end with 1. */
const resources = (ids: readonly string[], ResourceStatus = 'CREATE_COMPLETE') => ({
  StackResourceSummaries: ids.map((LogicalResourceId) => ({
    LogicalResourceId,
    PhysicalResourceId: `${LogicalResourceId}-1`,
    ResourceType: 'AWS::Any::Resource',
    LastUpdatedTimestamp: '2030-01-01T00:00:00Z',
    ResourceStatus,
  })),
});
const RESOURCES = ['Table', ...Object.values(MAPPINGS), ...KEYS, ALARM_TOPIC];
const without = (id: string): Script => ({
  ListStackResources: resources(RESOURCES.filter((other) => other !== id)),
});
const WITHOUT_STACK: Script = {
  DescribeStacks: NO_STACK,
  ListStackResources: NO_STACK,
};
const logGroups = (...names: string[]) => ({
  logGroups: names.map((name) => ({ logGroupName: `aws-waf-logs-GatehouseEdge-${name}` })),
});

const concurrency = (
  ConcurrentExecutions: number,
  UnreservedConcurrentExecutions = 173,
): Script => ({
  'GET /2016-08-19/account-settings': {
    AccountLimit: { ConcurrentExecutions, UnreservedConcurrentExecutions },
  },
});
const gatewayQuota = (rateLimit: number, burstLimit: number): Script => ({
  'GET /account': { throttleSettings: { rateLimit, burstLimit } },
});
const subscriptions = (SubscriptionsConfirmed: number): Script => ({
  GetTopicAttributes: { Attributes: { SubscriptionsPending: 1, SubscriptionsConfirmed } },
});
const certificate = (names: string[], Status = 'ISSUED', changes = {}) => ({
  Certificate: { Status, SubjectAlternativeNames: names, NotAfter: 4_000_000_000, ...changes },
});
const table = (DeletionProtectionEnabled = true, MaxReadRequestUnits = 7001): Script => ({
  DescribeTable: {
    Table: {
      DeletionProtectionEnabled,
      OnDemandThroughput: { MaxReadRequestUnits, MaxWriteRequestUnits: 3001 },
    },
  },
});
const recovery = (PointInTimeRecoveryStatus: string): Script => ({
  DescribeContinuousBackups: {
    ContinuousBackupsDescription: { PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus } },
  },
});
const timeToLive = (TimeToLiveStatus: string, AttributeName = 'expires'): Script => ({
  DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus, AttributeName } },
});

const keyMetadata = (changes: object = {}, region = 'eu-west-1') => ({
  KeyMetadata: {
    KeyState: 'Enabled',
    KeySpec: 'SYMMETRIC_DEFAULT',
    Origin: 'AWS_KMS',
    MultiRegionConfiguration: {
      MultiRegionKeyType: 'PRIMARY',
      ReplicaKeys: [{ Region: region, Arn: 'arn:replica' }],
    },
    ...changes,
  },
});
const key = (id: string, changes: object): Script => ({
  DescribeKey: ({ KeyId }) => keyMetadata(KeyId === `${id}-1` ? changes : {}),
});
const replica = (changes: object): Script => ({
  'eu-west-1 DescribeKey': keyMetadata({
    MultiRegionConfiguration: { MultiRegionKeyType: 'REPLICA' },
    ...changes,
  }),
});
const unrotated = (id: string): Script => ({
  GetKeyRotationStatus: ({ KeyId }) => ({ KeyRotationEnabled: KeyId !== `${id}-1` }),
});
/** The only resource that has the tag of the environment, after an empty page. */
const tagged = (ResourceARN: string): Script => ({
  GetResources: ({ TagFilters: [tag], ResourceTypeFilters: [type], PaginationToken }) =>
    PaginationToken
      ? {
          ResourceTagMappingList:
            tag.Values[0] === 'moon' && ResourceARN.includes(`:${type.split(':')[0]}:`)
              ? [{ ResourceARN }]
              : [],
          PaginationToken: '',
        }
      : { ResourceTagMappingList: [], PaginationToken: 'next' },
});
/** A key with the tag of the environment that the stack does not know. */
const former = (purpose: string, KeyState = 'Enabled'): Script => ({
  ...tagged(KEY_ARN),
  DescribeKey: ({ KeyId }) =>
    keyMetadata(KeyId === KEY_ARN ? { KeyState, Description: `Gatehouse: ${purpose}` } : {}),
});
const mapping = (id: string, State = 'Enabled', LastProcessingResult = 'OK'): Script => ({
  [`GET /2015-03-31/event-source-mappings/${id}-1`]: { State, LastProcessingResult },
});

const TRAIL = {
  TrailARN: 'arn:aws:cloudtrail:eu-north-1:123456789012:trail/all',
  HomeRegion: 'eu-south-2',
};
const TRAIL_OF_ORGANIZATION = { ...TRAIL, TrailARN: 'arn:2', IsOrganizationTrail: true };
const selectors = (...EventSelectors: object[]): Script => ({
  GetEventSelectors: { EventSelectors },
});
const advanced = (...FieldSelectors: object[]): Script => ({
  GetEventSelectors: { AdvancedEventSelectors: [{ FieldSelectors }] },
});
const MANAGEMENT = { Field: 'eventCategory', Equals: ['Management'] };
const excluding = (source: string) => ({ Field: 'eventSource', NotEquals: [source] });
const ALL_CHANGES = { IncludeManagementEvents: true, ReadWriteType: 'All' };

const SENDER = 'GET /v2/email/identities/gate%40mail.example.org';
const DOMAIN = 'GET /v2/email/identities/mail.example.org';
const IDENTITY = {
  VerifiedForSendingStatus: true,
  DkimAttributes: { Status: 'SUCCESS' },
  MailFromAttributes: { MailFromDomainStatus: 'SUCCESS' },
};
const UNSIGNED = { ...IDENTITY, DkimAttributes: { Status: 'PENDING' } };
const NO_MAIL_FROM = { ...IDENTITY, MailFromAttributes: {} };
const DEFAULT_SET = { ...IDENTITY, ConfigurationSetName: 'default' };
const sesAccount = (ProductionAccessEnabled: boolean, SendingEnabled: boolean): Script => ({
  'GET /v2/email/account': { ProductionAccessEnabled, SendingEnabled },
});

const READY: Script = {
  GetParameter: version(99),
  DescribeStacks: stack('CREATE_COMPLETE'),
  ListStackResources: ({ NextToken }) =>
    NextToken
      ? resources(RESOURCES.slice(5))
      : { ...resources(RESOURCES.slice(0, 5)), NextToken: 'next' },
  ...table(),
  ...recovery('ENABLED'),
  ...timeToLive('ENABLING'),
  ...mapping(MAPPINGS['mail-delayed']),
  ...mapping(MAPPINGS['audit-delayed'], 'Updating', 'No records processed'),
  DescribeKey: keyMetadata(),
  GetKeyRotationStatus: { KeyRotationEnabled: true },
  GetResources: { ResourceTagMappingList: [] },
  [SENDER]: NOT_FOUND,
  [DOMAIN]: IDENTITY,
  'GET /v2/email/configuration-sets/events': { ConfigurationSetName: 'events' },
  ...sesAccount(true, true),
  ...concurrency(500),
  ...gatewayQuota(22, 44),
  DescribeCertificate: certificate(['one.example', '*.one.example']),
  ...subscriptions(1),
  DescribeAlarms: ({ StateValue }) => (StateValue === 'ALARM' ? {} : NOT_FOUND),
  DescribeTrails: { trailList: [TRAIL] },
  GetTrailStatus: { IsLogging: true },
  ...selectors(ALL_CHANGES),
  'GET /account-settings': { ResourceTypeManagementPreference: { DynamoDB: true } },
  // Of the edge.
  'us-east-1 GetParameter': version(99),
  'us-east-1 DescribeStacks': stack('UPDATE_COMPLETE', false),
  'us-east-1 ListStackResources': resources([]),
  'us-east-1 DescribeLogGroups': logGroups(),
  'us-east-1 DescribeCertificate': certificate(['api.one.example']),
  'us-east-1 GetSecretValue': { SecretString: SECRET },
  // Of the backups.
  'eu-west-1 GetParameter': version(99),
  'eu-west-1 DescribeStacks': stack('UPDATE_COMPLETE', false),
  'eu-west-1 ListStackResources': resources(KEYS),
  ...replica({}),
  'eu-west-1 DescribeTrails': { trailList: [TRAIL] },
  'eu-west-1 GetTrailStatus': { IsLogging: true },
  'eu-west-1 GetEventSelectors': { EventSelectors: [ALL_CHANGES] },
};

let script: Script = READY;
let aws: Awaited<ReturnType<typeof scriptedAws>>;
beforeAll(async () => {
  aws = await scriptedAws((operation, input, region) => {
    const isElsewhere = region === 'us-east-1' || region === 'eu-west-1';
    const response = script[isElsewhere ? `${region} ${operation}` : operation];
    return typeof response === 'function' ? response(input) : response;
  });
});
beforeEach(() => {
  for (const [name, value] of Object.entries(aws.environment)) vi.stubEnv(name, value);
});
afterAll(() => aws.stop());

async function findings(changes: Script, settings = SETTINGS): Promise<string[]> {
  script = { ...READY, ...changes };
  const lines = await Promise.all(
    checksOf('moon', settings).map(async ([name, , find]) => {
      const { severity, problem, remedy } = (await find()) ?? {};
      const found = `${name} ${problem} -> ${remedy}`;
      return problem ? [severity === 'MISSING' ? found : `${severity} ${found}`] : [];
    }),
  );
  return lines.flat();
}

const { configurationSet: _, ...mailWithoutSet } = SETTINGS.mail;
const { loginConcurrency: __, ...withoutConcurrency } = SETTINGS;
const { backup: ___, ...withoutBackup } = SETTINGS;

type Case = [account: string, changes: Script, settings?: Settings];

/** What is missing, or a WARNING, with a part of the remedy; and what differs from READY. */
const BROKEN: [found: RegExp, changes: Script, settings?: Settings][] = [
  [/^CDK bootstrap .* was not done, .* npx cdk bootstrap/, { GetParameter: NO_PARAMETER }],
  [/^CDK bootstrap .* has the version 5, .*requires version 6/, { GetParameter: version(5) }],
  [/^CDK bootstrap in us-east-1/, { 'us-east-1 GetParameter': NO_PARAMETER }],
  ...Object.entries({
    ROLLBACK_COMPLETE: 'delete-stack',
    UPDATE_FAILED: 'rollback-stack',
    UPDATE_ROLLBACK_FAILED: 'continue-update-rollback',
    IMPORT_ROLLBACK_FAILED: 'describe-stack-events',
  }).map(([status, command]): [RegExp, Script] => [
    RegExp(`^stack Gatehouse-moon has the status ${status}, .* ${command} --stack-name`),
    { DescribeStacks: stack(status, false) },
  ]),
  [
    /status ROLLBACK_FAILED, .* remove the protections of the stack and of its table, and delete/,
    { DescribeStacks: stack('ROLLBACK_FAILED') },
  ],
  [
    /^stack Gatehouse-moon is not protected.* npm run deploy -- -c env=moon/,
    { DescribeStacks: stack('CREATE_COMPLETE', false) },
    KEPT,
  ],
  [
    /^stack GatehouseEdge-moon belongs to another .* in eu-south-1" -> rename one/,
    {
      'us-east-1 DescribeStacks': stack('ROLLBACK_COMPLETE', false, edgeDescription('eu-south-1')),
    },
  ],
  [
    /^stack GatehouseBackup-moon .*ROLLBACK_COMPLETE/,
    { 'eu-west-1 DescribeStacks': stack('ROLLBACK_COMPLETE', false) },
  ],
  [
    /^stack GatehouseEdge-moon would create a log group .* delete-log-group .*-moon --region/,
    {
      'us-east-1 DescribeStacks': NO_STACK,
      'us-east-1 DescribeLogGroups': logGroups('moon2', 'moon'),
    },
  ],
  [/^table Table-1 does not exist/, { DescribeTable: NO_RESOURCE }],
  [
    /^table Table-1 has no point-in-time recovery.* update-continuous-backups/,
    recovery('DISABLED'),
    KEPT,
  ],
  [/^table .* is DISABLED on .* Enabled=true,AttributeName=expires/, timeToLive('DISABLED')],
  [
    /^WARNING table Gate has another maximum .* MaxReadRequestUnits=7001,MaxWriteRequestUnits=3001/,
    table(true, 9),
    { ...SETTINGS, existing: { tableStream: streamOf('Gate') } },
  ],
  [
    /^stream .* mail-delayed stays OK: .* has the state Disabled -> .* --enabled/,
    mapping(MAPPINGS['mail-delayed'], 'Disabled'),
  ],
  [
    /^stream .* does not exist -> deploy with --revert-drift/,
    { [`GET /2015-03-31/event-source-mappings/${MAPPINGS['mail-delayed']}-1`]: NO_RESOURCE },
  ],
  [
    /^stream .* audit-delayed stays OK: .* reports "PROBLEM: denied" -> .* detect-stack-drift/,
    mapping(MAPPINGS['audit-delayed'], 'Enabled', 'PROBLEM: denied'),
  ],
  [
    /^key TableKey does not exist/,
    { DescribeKey: ({ KeyId }) => (KeyId === 'TableKey-1' ? NOT_FOUND : keyMetadata()) },
  ],
  [
    /^key FactorKey has the state Disabled.* enable-key --key-id FactorKey-1/,
    key('FactorKey', { KeyState: 'Disabled' }),
  ],
  [
    /^key PepperKeyA is about to be deleted.* cancel-key-deletion .* && aws kms enable-key /,
    key('PepperKeyA', { KeyState: 'PendingDeletion' }),
  ],
  [/^WARNING key TableKey is not rotated.* enable-key-rotation/, unrotated('TableKey')],
  [
    /^WARNING replica of ValuesKey does not exist in eu-west-1/,
    {
      DescribeKey: ({ KeyId }) =>
        keyMetadata({}, KeyId === 'ValuesKey-1' ? 'eu-south-1' : undefined),
    },
  ],
  [
    /^replica of \w+ is about to be deleted/,
    {
      ...replica({ KeyState: 'PendingDeletion' }),
      'eu-west-1 ListStackResources': resources(KEYS, 'DELETE_COMPLETE'),
    },
  ],
  [
    /^replica of \w+ exists outside of GatehouseBackup-moon.* to existingReplicas/,
    { 'eu-west-1 DescribeStacks': NO_STACK },
  ],
  [
    /^earlier data Gatehouse-moon would create an empty table, but there is .*\/Gate -> set/,
    { ...WITHOUT_STACK, ...tagged('arn:aws:dynamodb:eu-north-1:1:table/Gate') },
    KEPT,
  ],
  [
    /^earlier data .* would create FactorKey, .*mrk-2 \(Enabled\) .* "FactorKey": "arn:/,
    { ...without('FactorKey'), ...former('derives the secrets of second factors') },
    KEPT,
  ],
  [/^sender .* by DKIM, so SES rejects .* create-email-identity/, { [DOMAIN]: NOT_FOUND }],
  [
    /^sender gate@mail.example.org the address is not verified, .* verify-email-identity/,
    { [SENDER]: { VerifiedForSendingStatus: false } },
  ],
  [
    /^sender .* not verified by DKIM, so SES rejects every mail: .* get-email-identity/,
    { [DOMAIN]: UNSIGNED },
  ],
  [
    /^WARNING sender .* so mails fail DMARC, .* create-email-identity/,
    { [SENDER]: NO_MAIL_FROM, [DOMAIN]: NOT_FOUND },
  ],
  [
    /^WARNING sender .* so DMARC depends on the MAIL FROM domain alone: .* get-email-identity/,
    { [SENDER]: IDENTITY, [DOMAIN]: UNSIGNED },
  ],
  [
    /^WARNING sender .* no MAIL FROM domain .* bounce.mail.example.org .*-identity mail.example.org/,
    { [DOMAIN]: NO_MAIL_FROM },
  ],
  [
    /^sender .* default configuration set default, .* set "configurationSet": "default"/,
    { [DOMAIN]: DEFAULT_SET },
    { ...SETTINGS, mail: mailWithoutSet },
  ],
  [
    /^SES account has no configuration set events/,
    { 'GET /v2/email/configuration-sets/events': NOT_FOUND },
  ],
  [/^SES account is in the sandbox.*-url https:\/\/one.example --r/, sesAccount(false, true)],
  [/^SES account its sending is paused.* --sending-enabled/, sesAccount(true, false)],
  [/ quota is 499, .* needs 500: the deployment fails .* --desired-value 1000/, concurrency(499)],
  [/ quota is 10, .* needs 100: beyond it, requests end/, concurrency(10), withoutConcurrency],
  [
    /^Lambda concurrency the quota is 1267, .* needs 1601: .* --desired-value 1601/,
    { ...concurrency(1267), ...gatewayQuota(50_000, 50_000) },
    { ...SETTINGS, requestsPerSecond: 12_001 },
  ],
  [
    /^WARNING Lambda concurrency .* share 172 executions, .* for 173: .*Concurrency": 172/,
    concurrency(500, 172),
  ],
  [/^WARNING API Gateway quota .* beyond 21 requests .* --desired-value 22/, gatewayQuota(21, 44)],
  [/^WARNING API Gateway quota .* 43, .* lower requestsPerSecond to 10/, gatewayQuota(22, 43)],
  [
    /^certificate for gate.one.example does not exist.* --domain-name '\*.one.example'/,
    { DescribeCertificate: NO_RESOURCE },
  ],
  [
    /^certificate for gate.one.example is for one.example, \*.gate.one.example only/,
    { DescribeCertificate: certificate(['one.example', '*.gate.one.example']) },
  ],
  [
    /^certificate .* has the status PENDING_VALIDATION, .* describe-certificate/,
    { DescribeCertificate: certificate(['gate.one.example'], 'PENDING_VALIDATION') },
  ],
  [
    /^WARNING certificate for .* expires at 1970.* import-certificate/,
    {
      DescribeCertificate: certificate(['*.one.example'], 'ISSUED', {
        NotAfter: 1,
        Type: 'IMPORTED',
      }),
    },
  ],
  [
    /^certificate for api.one.example is for .* --domain-name api.one.example --region us-/,
    { 'us-east-1 DescribeCertificate': certificate(['one.example']) },
  ],
  [
    /^alarms to arn.* the topic does not exist.* --name operators/,
    { GetTopicAttributes: { error: 'NotFound' } },
  ],
  [/^alarms to arn.* nobody has confirmed .*-endpoint ADDRESS/, subscriptions(0)],
  [
    /^alarms to operators@.* --topic-arn Alarms\w+-1 .*-endpoint operators@one.example/,
    subscriptions(0),
    { ...SETTINGS, alarms: 'operators@one.example' },
  ],
  [
    /^CloudTrail in eu-north-1 there is no trail in eu-north-1.* --is-multi-region-trail/,
    { DescribeTrails: { trailList: [] } },
  ],
  [
    /^CloudTrail .*all does not log.* start-logging --name arn:.* --region eu-south-2/,
    { GetTrailStatus: { IsLogging: false } },
  ],
  ...[
    selectors({ ...ALL_CHANGES, IncludeManagementEvents: false }),
    selectors({ ...ALL_CHANGES, ExcludeManagementEventSources: ['kms.amazonaws.com'] }),
    advanced(MANAGEMENT, excluding('kms.amazonaws.com')),
  ].map((changes): [RegExp, Script] => [
    /^CloudTrail .*all does not record the changes .* get-event-selectors/,
    changes,
  ]),
  [
    /^WARNING CloudTrail .* arn:2 belongs to the organization, and cannot be read from here/,
    {
      DescribeTrails: { trailList: [TRAIL_OF_ORGANIZATION] },
      GetEventSelectors: { error: 'TrailNotFoundException' },
    },
  ],
  [
    /^WARNING canary .*: Gatehouse-moon-defects -> /,
    { DescribeAlarms: { MetricAlarms: [{ AlarmName: 'Gatehouse-moon-defects' }] } },
  ],
  [
    /^secret gate\/edge-2 does not exist.* create-secret --name gate\/edge-2 .*rand -hex 32/,
    { 'us-east-1 GetSecretValue': NO_RESOURCE },
  ],
  [
    RegExp(`^secret .* hash ${SECRET_HASH}, which secretHashes does not contain`),
    {},
    { ...SETTINGS, edge: OTHER_SETTINGS.edge },
  ],
  [
    /^AWS Backup its advanced features .* DynamoDB=true/,
    { 'GET /account-settings': { ResourceTypeManagementPreference: { DynamoDB: false } } },
  ],
];

const SOUND: Case[] = [
  ['was bootstrapped by an older CDK', { GetParameter: version(BOOTSTRAP_VERSION) }],
  ['has a verified address', { [SENDER]: IDENTITY }],
  ['has a trail with advanced selectors', advanced(MANAGEMENT)],
  [
    'has a trail without the Data API of RDS',
    selectors({
      IncludeManagementEvents: true,
      ReadWriteType: 'WriteOnly',
      ExcludeManagementEventSources: ['rdsdata.amazonaws.com'],
    }),
  ],
  [
    'has a trail that cannot be read beside one that is complete',
    {
      DescribeTrails: { trailList: [TRAIL_OF_ORGANIZATION, TRAIL] },
      GetEventSelectors: ({ TrailName }) =>
        TrailName === TRAIL.TrailARN
          ? { EventSelectors: [ALL_CHANGES] }
          : { error: 'AccessDeniedException' },
    },
  ],
  [
    'has a key that KMS does not rotate',
    { ...key('ValuesKey', { Origin: 'EXTERNAL' }), ...unrotated('ValuesKey') },
  ],
  [
    'has a key that is a replica',
    {
      ...key('ValuesKey', { MultiRegionConfiguration: { MultiRegionKeyType: 'REPLICA' } }),
      ...unrotated('ValuesKey'),
    },
    withoutBackup,
  ],
  [
    'has a key that a failed deployment has deleted',
    {
      ...key('TableKey', { KeyState: 'PendingDeletion' }),
      ListStackResources: resources(RESOURCES, 'DELETE_COMPLETE'),
    },
  ],
  [
    'has a former key that signed tokens',
    { ...without('SigningKeyB'), ...former('signs tokens') },
    { ...KEPT, signingKeys: ['SigningKeyB'] },
  ],
  [
    'has a former key that no longer exists',
    {
      ...without('FactorKey'),
      ...tagged(KEY_ARN),
      DescribeKey: ({ KeyId }) => (KeyId === KEY_ARN ? NOT_FOUND : keyMetadata()),
    },
    KEPT,
  ],
  [
    'has the replicas that the settings name',
    { 'eu-west-1 ListStackResources': resources([]) },
    {
      ...SETTINGS,
      backup: {
        ...OTHER_SETTINGS.backup,
        existingReplicas: ['ValuesKey', 'FactorKey', 'PepperKeyA', 'PepperKeyB'],
      },
    },
  ],
  [
    'has an adopted table, and not the one that is deployed',
    {
      DescribeTable: ({ TableName }) =>
        TableName === 'Restored' ? (table().DescribeTable as object) : NO_RESOURCE,
    },
    { ...SETTINGS, existing: { tableStream: streamOf('Restored') } },
  ],
  [
    'has no stack yet, which creates the topic and changes what functions share',
    { ...WITHOUT_STACK, ...concurrency(500, 9), GetTopicAttributes: { error: 'NotFound' } },
    { ...SETTINGS, alarms: 'operators@one.example' },
  ],
  [
    'has a stack that the settings leave unprotected',
    { DescribeStacks: stack('UPDATE_COMPLETE', false) },
    { ...SETTINGS, keepData: true, unprotected: true },
  ],
];

describe('an account', () => {
  it.each(BROKEN)('is told the problem and its remedy: %s', async (found, changes, settings) => {
    const lines = await findings(changes, settings);

    expect(lines).not.toEqual([]);
    for (const line of lines) expect(line).toMatch(found);
  });

  it.each(SOUND)('lacks nothing if it %s', async (_, changes, settings) => {
    expect(await findings(changes, settings)).toEqual([]);
  });

  it('is not asked for what the settings do not need', async () => {
    const { loginConcurrency: _, alarms: __, domain: ___, edge: ____, ...fewer } = withoutBackup;
    const unneeded = /^(us|eu)-|Certificate|Topic|Trail|EventSelectors|GET \/account-settings/;
    const denied = Object.keys(READY)
      .filter((operation) => unneeded.test(operation))
      .map((operation) => [operation, { error: 'AccessDeniedException' }]);
    const changes = { ...Object.fromEntries(denied), ...concurrency(100), [DOMAIN]: DEFAULT_SET };

    expect(await findings(changes, fewer)).toEqual([]);
  });

  it('is read with the permissions that the documents list, and no others', async () => {
    aws.calls.length = 0;
    await findings({ ...without('FactorKey'), ...former('other') }, KEPT);

    const ACTIONS: [path: RegExp, action: string][] = [
      [/^GET .*event-source-mappings/, 'GetEventSourceMapping'],
      [/^GET \/2016-08-19\/account-settings/, 'GetAccountSettings'],
      [/^GET \/account-settings/, 'DescribeRegionSettings'],
      [/^GET \/account$/, 'GET'],
      [/^GET .*email\/account/, 'GetAccount'],
      [/^GET .*email\/configuration-sets/, 'GetConfigurationSet'],
      [/^GET .*email\/identities/, 'GetEmailIdentity'],
    ];
    const used = aws.calls.map((call) => ACTIONS.find(([path]) => path.test(call))?.[1] ?? call);
    const [documented = ''] =
      /^`preflight` changes nothing[\s\S]*?\n\n`/m.exec(
        readFileSync(join(ROOT, 'docs/commands.md'), 'utf8'),
      ) ?? [];
    const listed = [...documented.matchAll(/`[a-z]+:([A-Z]\w+)`/g)].map(([, action]) => action);
    expect([...new Set(used)].sort()).toEqual([...new Set(listed)].sort());
  });

  it('is searched for resources by the logical ids that the stack gives them', () => {
    const template = templateOf('prod', { auditLogDays: 30 });
    const ids = (type: string) => Object.keys(template.findResources(type)).sort();

    expect(ids('AWS::DynamoDB::Table')).toEqual(['Table']);
    expect(ids('AWS::SNS::Topic')).toEqual([ALARM_TOPIC]);
    expect(ids('AWS::Lambda::EventSourceMapping')).toEqual(Object.values(MAPPINGS).sort());
  });

  it('must be bootstrapped with the version that the cloud assembly requires', () => {
    const { artifacts } = JSON.parse(
      readFileSync(join(inject('assembly'), 'manifest.json'), 'utf8'),
    );

    expect(artifacts['Gatehouse-dev'].properties.requiresBootstrapStackVersion).toBe(
      BOOTSTRAP_VERSION,
    );
  });

  it('must be the one that the settings name', async () => {
    script = { GetCallerIdentity: { Account: '210987654321' } };

    await expect(requireAccount('moon', SETTINGS)).rejects.toThrow(
      'The credentials are of the account 210987654321, but environments/moon.json names 123456789012.',
    );
    await expect(requireAccount('moon', { ...SETTINGS, account: '210987654321' })).resolves.toBe(
      '210987654321',
    );
    vi.stubEnv('AWS_ENDPOINT_URL_STS', aws.environment.AWS_ENDPOINT_URL);
    vi.stubEnv('AWS_ENDPOINT_URL', '');
    await expect(requireKnownAccount([['123456789012', 'prod']])).rejects.toThrow(
      'The credentials are of the account 210987654321; the files in environments/ name 123456789012 (prod).',
    );
  });
});

describe('npm run admin -- preflight', () => {
  const DEV: Script = {
    ...READY,
    ...gatewayQuota(10_000, 5000),
    'GET /v2/email/identities/gatehouse%40gatehouse.dev': NOT_FOUND,
    'GET /v2/email/identities/gatehouse.dev': IDENTITY,
    GetCallerIdentity: { Account: '123456789012' },
  };
  const DEV_OPTIONS = ['--env', 'dev'];
  const DENIED = {
    error: 'AccessDeniedException',
    message: 'not authorized to perform ssm:GetParameter',
  };
  const preflight = async (options: string[], changes: Script = {}) => {
    script = { ...DEV, ...changes };
    return runCommand('preflight', options, aws.environment, inject('repository'));
  };

  it('prints a line for each check, and under it the remedy and where to read more', async () => {
    const { code, stdout, stderr } = await preflight(DEV_OPTIONS, {
      GetParameter: DENIED,
      ...sesAccount(false, true),
      ...gatewayQuota(2500, 125),
    });

    expect([code, stderr]).toEqual([2, '']);
    expect(stdout).toContain('\nok       stack Gatehouse-dev\nok       table\n');
    expect(stdout.split('\n').filter((line) => !line.startsWith('ok  '))).toEqual([
      'Reading what dev needs in eu-central-1 of the account 123456789012',
      'UNKNOWN  CDK bootstrap in eu-central-1: A permission is missing (docs/commands.md lists them): not authorized to perform ssm:GetParameter.',
      'MISSING  SES account: is in the sandbox: only verified addresses receive mail, and functions may use only the identities of the sender and its domain, which SES requires for recipients as well',
      '  aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL --website-url https://WEBSITE --region eu-central-1',
      '  docs/deploying.md#what-takes-days',
      'WARNING  API Gateway quota: requestsPerSecond exceeds it: beyond 2500 requests a second, and bursts of 125, clients of all APIs of the account get 429',
      '  lower requestsPerSecond to 31',
      '  docs/performance.md#throttles',
      '',
    ]);
  });

  it.each<[string, number, RegExp, string[]?, Script?]>([
    ['a piece is missing', 1, /\nMISSING {2}SES acc/, DEV_OPTIONS, sesAccount(false, true)],
    ['there is only a warning', 0, /\nEverything is/, DEV_OPTIONS, gatewayQuota(2500, 125)],
    ['the environment is unknown', 2, /^There is no environment moon: /, ['--env', 'moon']],
  ])('exits with the documented status when %s: %i', async (...row) => {
    const [, status, output, options = DEV_OPTIONS, changes] = row;

    const { code, stdout, stderr } = await preflight(options, changes);

    expect(code).toBe(status);
    expect(stdout + stderr).toMatch(output);
  });
});
