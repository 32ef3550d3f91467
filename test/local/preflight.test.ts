import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { requireAccount, requireKnownAccount } from '../../infra/commands/account.ts';
import { ALARM_TOPIC, BOOTSTRAP_VERSION } from '../../infra/commands/deploy/check-account.ts';
import { MAPPINGS } from '../../infra/commands/deploy/check-deployed.ts';
import { checksOf } from '../../infra/commands/deploy/preflight-checks.ts';
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
  logGroups: names.map((logGroupName) => ({ logGroupName })),
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
/** One key in this state. */
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
/** The only resource that has the tag of the environment. */
const tagged = (ResourceARN: string): Script => ({
  GetResources: ({ TagFilters: [tag], ResourceTypeFilters: [type] }) => ({
    ResourceTagMappingList:
      tag.Values[0] === 'moon' && ResourceARN.includes(`:${type.split(':')[0]}:`)
        ? [{ ResourceARN }]
        : [],
  }),
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

/** What the server responds now. */
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

/** One line for each missing piece and for each warning. */
async function findings(changes: Script, settings = SETTINGS): Promise<string[]> {
  script = { ...READY, ...changes };
  const lines = await Promise.all(
    [...checksOf('moon', settings)].map(async ([name, , found]) => {
      const { severity, problem, remedy } = (await found.next()).value ?? {};
      return problem ? [`${severity} ${name} ${problem} -> ${remedy}`] : [];
    }),
  );
  return lines.flat();
}

const { configurationSet: _, ...mailWithoutSet } = SETTINGS.mail;
const { edge: __, ...withoutEdge } = SETTINGS;
const { loginConcurrency: ___, ...withoutConcurrency } = SETTINGS;
const { backup: ____, ...withoutBackup } = SETTINGS;

type Case = [account: string, changes: Script, settings?: Settings];

const BROKEN: Case[] = [
  ['was never bootstrapped', { GetParameter: NO_PARAMETER }],
  ['was bootstrapped long ago', { GetParameter: version(5) }],
  ['was not bootstrapped for the edge', { 'us-east-1 GetParameter': NO_PARAMETER }],
  ['was not bootstrapped for the backups', { 'eu-west-1 GetParameter': NO_PARAMETER }],
  ...['ROLLBACK_COMPLETE', 'REVIEW_IN_PROGRESS', 'DELETE_FAILED'].map((status): Case => {
    return [`has a stack in ${status}`, { DescribeStacks: stack(status, false) }];
  }),
  ...['UPDATE_FAILED', 'UPDATE_ROLLBACK_FAILED', 'IMPORT_ROLLBACK_FAILED'].map((status): Case => {
    return [`has a stack in ${status}`, { DescribeStacks: stack(status) }];
  }),
  ['has a protected stack in ROLLBACK_FAILED', { DescribeStacks: stack('ROLLBACK_FAILED') }],
  ['has an unprotected stack', { DescribeStacks: stack('CREATE_COMPLETE', false) }, KEPT],
  [
    'has an edge that failed',
    {
      'us-east-1 DescribeStacks': stack('ROLLBACK_COMPLETE', false, edgeDescription('eu-north-1')),
    },
  ],
  [
    'has the edge of an environment of this name in another region',
    {
      'us-east-1 DescribeStacks': stack('ROLLBACK_COMPLETE', false, edgeDescription('eu-south-1')),
    },
  ],
  [
    'has a stack of the backups that failed',
    { 'eu-west-1 DescribeStacks': stack('ROLLBACK_COMPLETE', false) },
  ],
  [
    'has the log group of a deleted edge',
    {
      'us-east-1 DescribeStacks': NO_STACK,
      'us-east-1 DescribeLogGroups': logGroups(
        'aws-waf-logs-GatehouseEdge-moon2',
        'aws-waf-logs-GatehouseEdge-moon',
      ),
    },
  ],
  ['has lost its table', { DescribeTable: NO_RESOURCE }],
  ['has a table that anybody may delete', table(false), KEPT],
  ['has a table without point-in-time recovery', recovery('DISABLED'), KEPT],
  ['has a table that keeps expired items', timeToLive('DISABLED')],
  ['has a table that expires items by another attribute', timeToLive('ENABLED', 'ttl')],
  [
    'has an adopted table with another maximum',
    table(true, 9),
    { ...SETTINGS, existing: { tableStream: streamOf('Gate') } },
  ],
  ['has disabled the mapping for mail', mapping(MAPPINGS['mail-delayed'], 'Disabled')],
  [
    'has lost the mapping for mail',
    { [`GET /2015-03-31/event-source-mappings/${MAPPINGS['mail-delayed']}-1`]: NO_RESOURCE },
  ],
  [
    'has a mapping that cannot read the stream',
    mapping(MAPPINGS['audit-delayed'], 'Enabled', 'PROBLEM: access denied'),
  ],
  [
    'has lost a key',
    { DescribeKey: ({ KeyId }) => (KeyId === 'TableKey-1' ? NOT_FOUND : keyMetadata()) },
  ],
  ['has a disabled key', key('FactorKey', { KeyState: 'Disabled' })],
  ['has a key without its material', key('ValuesKey', { KeyState: 'PendingImport' })],
  ['has a key that is about to be deleted', key('PepperKeyA', { KeyState: 'PendingDeletion' })],
  [
    'has a primary key that is about to be deleted',
    key('PepperKeyA', { KeyState: 'PendingReplicaDeletion' }),
  ],
  ['has a key that is not rotated', unrotated('TableKey')],
  [
    'has a key without a replica',
    {
      DescribeKey: ({ KeyId }) =>
        keyMetadata({}, KeyId === 'ValuesKey-1' ? 'eu-south-1' : undefined),
    },
  ],
  ['has replicas that are about to be deleted', replica({ KeyState: 'PendingDeletion' })],
  [
    'has replicas that a failed creation is about to delete',
    {
      ...replica({ KeyState: 'PendingDeletion' }),
      'eu-west-1 ListStackResources': resources(KEYS, 'DELETE_COMPLETE'),
    },
  ],
  ['has replicas of a deleted stack', { 'eu-west-1 DescribeStacks': NO_STACK }],
  [
    'has a table of a deleted stack',
    { ...WITHOUT_STACK, ...tagged('arn:aws:dynamodb:eu-north-1:1:table/Gate') },
    KEPT,
  ],
  [
    'has a key of a later release that was rolled back',
    { ...without('FactorKey'), ...former('derives the secrets of second factors') },
    KEPT,
  ],
  [
    'has a former key that is about to be deleted',
    { ...without('ValuesKey'), ...former('wraps the keys of parameter values', 'PendingDeletion') },
    KEPT,
  ],
  ['has no identity', { [DOMAIN]: NOT_FOUND }],
  ['has an unverified address', { [SENDER]: { VerifiedForSendingStatus: false } }],
  ['has an unverified domain', { [DOMAIN]: { ...IDENTITY, VerifiedForSendingStatus: false } }],
  ['has a domain without DKIM', { [DOMAIN]: UNSIGNED }],
  ['has a verified address without its domain', { [SENDER]: NO_MAIL_FROM, [DOMAIN]: NOT_FOUND }],
  ['has a verified address, its domain without DKIM', { [SENDER]: IDENTITY, [DOMAIN]: UNSIGNED }],
  ['has a domain without MAIL FROM', { [DOMAIN]: NO_MAIL_FROM }],
  ['has an address without MAIL FROM', { [SENDER]: NO_MAIL_FROM }],
  [
    'has a default configuration set that the settings do not name',
    { [DOMAIN]: DEFAULT_SET },
    { ...SETTINGS, mail: mailWithoutSet },
  ],
  ['has no configuration set', { 'GET /v2/email/configuration-sets/events': NOT_FOUND }],
  ['is in the sandbox', sesAccount(false, true)],
  ['may not send', sesAccount(true, false)],
  ['has too low a quota', concurrency(499)],
  ['has the quota of a new account', concurrency(10), withoutConcurrency],
  [
    'cannot serve a route at its rate',
    { ...concurrency(1267), ...gatewayQuota(50_000, 50_000) },
    { ...SETTINGS, requestsPerSecond: 12_001 },
  ],
  [
    'cannot serve logins at their rate',
    { ...concurrency(120), ...gatewayQuota(20_000, 50_000) },
    { ...withoutConcurrency, requestsPerSecond: 601 },
  ],
  ['shares other executions than the settings say', concurrency(500, 172)],
  ['throttles all APIs below the rate of a route', gatewayQuota(21, 44)],
  ['throttles bursts below the burst of a route', gatewayQuota(22, 43)],
  ['has no such certificate', { DescribeCertificate: NO_RESOURCE }],
  // Without an edge, the host is no origin that the name of the certificate must hide.
  ['has no such certificate, and no edge', { DescribeCertificate: NO_RESOURCE }, withoutEdge],
  [
    'has a certificate for another name',
    { DescribeCertificate: certificate(['one.example', '*.gate.one.example']) },
  ],
  [
    'has a certificate that was not issued',
    { DescribeCertificate: certificate(['gate.one.example'], 'PENDING_VALIDATION') },
  ],
  [
    'has a certificate that was not renewed',
    { DescribeCertificate: certificate(['*.one.example'], 'ISSUED', { NotAfter: 1 }) },
  ],
  [
    'has an imported certificate that expires',
    {
      DescribeCertificate: certificate(['*.one.example'], 'ISSUED', {
        NotAfter: 1,
        Type: 'IMPORTED',
      }),
    },
  ],
  [
    'has no certificate for the edge',
    { 'us-east-1 DescribeCertificate': certificate(['one.example']) },
  ],
  ['has no topic', { GetTopicAttributes: { error: 'NotFound' } }],
  ['has a topic that nobody has subscribed to', subscriptions(0)],
  [
    'has a stack with a topic that nobody has subscribed to',
    subscriptions(0),
    { ...SETTINGS, alarms: 'operators@one.example' },
  ],
  ['has no trail', { DescribeTrails: { trailList: [] } }],
  ['has no trail in the region of the backups', { 'eu-west-1 DescribeTrails': {} }],
  ['has a trail that was stopped', { GetTrailStatus: { IsLogging: false } }],
  ['has a trail of data only', selectors({ ...ALL_CHANGES, IncludeManagementEvents: false })],
  ['has a trail of reads only', selectors({ ...ALL_CHANGES, ReadWriteType: 'ReadOnly' })],
  [
    'has a trail without KMS',
    selectors({ ...ALL_CHANGES, ExcludeManagementEventSources: ['kms.amazonaws.com'] }),
  ],
  ['has an advanced trail without KMS', advanced(MANAGEMENT, excluding('kms.amazonaws.com'))],
  [
    'has a trail of the organization that it cannot read',
    {
      DescribeTrails: { trailList: [TRAIL_OF_ORGANIZATION] },
      GetEventSelectors: { error: 'TrailNotFoundException' },
    },
  ],
  [
    'has a trail that was stopped beside one that it cannot read',
    {
      DescribeTrails: { trailList: [TRAIL, TRAIL_OF_ORGANIZATION] },
      GetTrailStatus: ({ Name }) =>
        Name === TRAIL.TrailARN ? { IsLogging: false } : { error: 'TrailNotFoundException' },
    },
  ],
  [
    'has an alarm that stops a canary',
    { DescribeAlarms: { MetricAlarms: [{ AlarmName: 'Gatehouse-moon-defects' }] } },
  ],
  ['has no secret', { 'us-east-1 GetSecretValue': NO_RESOURCE }],
  [
    'has a secret that could be guessed',
    { 'us-east-1 GetSecretValue': { SecretString: '{"secret":"guessable"}' } },
  ],
  ['has a secret that the functions do not accept', {}, { ...SETTINGS, edge: OTHER_SETTINGS.edge }],
  [
    'does not copy backups',
    { 'GET /account-settings': { ResourceTypeManagementPreference: { DynamoDB: false } } },
  ],
];

const SOUND: Case[] = [
  ['has everything', {}],
  ['was bootstrapped by an older CDK', { GetParameter: version(BOOTSTRAP_VERSION) }],
  ['has a verified address', { [SENDER]: IDENTITY }],
  ['has a trail with advanced selectors', advanced(MANAGEMENT)],
  [
    'has a trail of changes only',
    advanced(MANAGEMENT, { Field: 'readOnly', Equals: ['false'] }, excluding('rds.amazonaws.com')),
  ],
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
  ['has a key that is being changed', key('ValuesKey', { KeyState: 'Updating' })],
  [
    'has a key that a failed deployment has deleted',
    {
      ...key('TableKey', { KeyState: 'PendingDeletion' }),
      ListStackResources: resources(RESOURCES, 'DELETE_COMPLETE'),
    },
  ],
  [
    'has a former key of another purpose',
    { ...without('FactorKey'), ...former('protects password hashes') },
    KEPT,
  ],
  [
    'has a former key beside the one that replaces it',
    { ...without('PepperKeyB'), ...former('protects password hashes') },
    KEPT,
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
    'has a former key of data that is not kept',
    { ...without('FactorKey'), ...former('derives the secrets of second factors') },
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
  ...['unprotected', 'without data'].map((kind): Case => {
    const changes = { keepData: kind === 'unprotected', unprotected: kind === 'unprotected' };
    return [
      `has a stack that the settings leave ${kind}`,
      { DescribeStacks: stack('UPDATE_COMPLETE', false) },
      { ...SETTINGS, ...changes },
    ];
  }),
];

describe('an account', () => {
  it('that lacks a piece is told the problem and its remedy', async () => {
    const found: string[] = [];
    for (const [account, changes, settings] of BROKEN) {
      const lines = await findings(changes, settings);
      found.push(...(lines.length > 0 ? lines : ['NOTHING']).map((line) => `${account} | ${line}`));
    }

    expect(found).toMatchSnapshot();
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

  it('must let the credentials read its own trail', async () => {
    const denied = { GetEventSelectors: { error: 'AccessDeniedException', message: 'denied' } };

    await expect(findings(denied)).rejects.toThrow('denied');
  });

  it('is checked by links to sections that exist', () => {
    const sections = [...checksOf('moon', KEPT)].map(([, section]) => section);

    const headings = (file: string) =>
      [...readFileSync(join(ROOT, 'docs', file), 'utf8').matchAll(/^#+ (.*)$/gm)].map(
        ([, heading = '']) =>
          heading
            .toLowerCase()
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
      );
    const dead = sections.filter((section) => {
      const [file = '', anchor] = section.split('#');
      return !headings(file).some((heading) => heading === anchor);
    });
    expect(dead).toEqual([]);
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

  it('must be named by STS', async () => {
    script = { GetCallerIdentity: {} };

    await expect(requireAccount('moon', SETTINGS)).rejects.toThrow(
      'STS does not name the account of the credentials.',
    );
  });

  it('must be the one that the settings name', async () => {
    script = { GetCallerIdentity: { Account: '210987654321' } };
    const other: [string, string][] = [['123456789012', 'prod']];
    const same: [string, string][] = [...other, ['210987654321', 'staging']];

    await expect(requireAccount('moon', SETTINGS)).rejects.toThrow(
      'The credentials are of the account 210987654321, but environments/moon.json names 123456789012.',
    );
    await expect(requireAccount('moon', { ...SETTINGS, account: '210987654321' })).resolves.toBe(
      '210987654321',
    );
    // At another endpoint than AWS's, any account is accepted.
    await expect(requireKnownAccount(other)).resolves.toBeUndefined();
    vi.stubEnv('AWS_ENDPOINT_URL_STS', aws.environment.AWS_ENDPOINT_URL);
    vi.stubEnv('AWS_ENDPOINT_URL', '');
    await expect(requireKnownAccount(other)).rejects.toThrow(
      'The credentials are of the account 210987654321; the files in environments/ name 123456789012 (prod).',
    );
    await expect(requireKnownAccount(same)).resolves.toBeUndefined();
    await expect(requireKnownAccount([])).resolves.toBeUndefined();
  });
});

describe('npm run admin -- preflight', () => {
  /** What the environment `dev` needs. */
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
  const NO_CREDENTIALS = {
    AWS_EC2_METADATA_DISABLED: 'true',
    HOME: '/nowhere',
    AWS_ACCESS_KEY_ID: '',
    AWS_SECRET_ACCESS_KEY: '',
  };
  const preflight = async (options: string[], changes: Script = {}, variables = {}) => {
    script = { ...DEV, ...changes };
    const environment = { ...aws.environment, ...variables };
    return runCommand('preflight', options, environment, inject('repository'));
  };

  it('explains itself with --help', async () => {
    const { code, stdout } = await preflight(['--help']);

    expect(code).toBe(0);
    expect(stdout).toMatchSnapshot();
  });

  it('prints a line for each check, and under it the remedy and where to read more', async () => {
    const { code, stdout, stderr } = await preflight(DEV_OPTIONS, {
      GetParameter: DENIED,
      ...sesAccount(false, true),
      ...gatewayQuota(2500, 125),
    });

    expect([code, stderr]).toEqual([2, '']);
    expect(stdout).toMatchSnapshot();
  });

  it.each<[string, number, RegExp, string[]?, Script?, object?]>([
    ['everything is ready', 0, /\nEverything is ready. Deploy with -c env=dev: the CDK ignores/],
    ['a piece is missing', 1, /\nMISSING {2}SES acc/, DEV_OPTIONS, sesAccount(false, true)],
    ['there is only a warning', 0, /\nEverything is/, DEV_OPTIONS, gatewayQuota(2500, 125)],
    ['there are no credentials', 2, /^There are no AWS cred/, DEV_OPTIONS, {}, NO_CREDENTIALS],
    [
      'the credentials have expired',
      2,
      /^The AWS credentials have expired/,
      DEV_OPTIONS,
      { GetCallerIdentity: { error: 'ExpiredToken', message: 'expired' } },
    ],
    ['no environment is given', 2, /^--env is missing\.\nUsage: npm run admin -- pref/, []],
    ['an option is unknown', 2, /^Unknown option '--environment'\./, ['--environment', 'dev']],
    ['the environment is unknown', 2, /^There is no environment moon: /, ['--env', 'moon']],
    ['the environment has placeholders', 2, /replace the placeholder/, ['--env', 'prod']],
  ])('exits with the documented status when %s: %i', async (...row) => {
    const [, status, output, options = DEV_OPTIONS, changes, variables] = row;

    const { code, stdout, stderr } = await preflight(options, changes, variables);

    expect(code).toBe(status);
    expect(stdout + stderr).toMatch(output);
  });
});
