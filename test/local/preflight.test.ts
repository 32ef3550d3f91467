import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { requireAccount, requireKnownAccount } from '../../infra/commands/account.ts';
import { awsReader } from '../../infra/commands/aws-reader.ts';
import { logGroupsOf } from '../../infra/commands/deploy/deployed.ts';
import { BOOTSTRAP_VERSION, checksOf } from '../../infra/commands/deploy/preflight-checks.ts';
import { MAPPINGS } from '../../infra/commands/deploy/protections.ts';
import { edgeDescription } from '../../infra/settings/edge.ts';
import type { Settings } from '../../infra/settings/settings.ts';
import { runCommand } from '../support/commands/run-command.ts';
import { type Input, type ScriptedResponse, scriptedAws } from '../support/doubles/scripted-aws.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { templateOf } from '../support/stack/stack.ts';

/* `npm run admin -- preflight` on a scripted AWS: everything ready, then each piece missing. */

const SENDER = '/v2/email/identities/gate%40mail.example.org';
const DOMAIN = '/v2/email/identities/mail.example.org';
const SECRET = '5f'.repeat(32);
const SECRET_HASH = createHash('sha256').update(SECRET).digest('hex');
const EDGE = { ...OTHER_SETTINGS.edge, secretHashes: ['a0'.repeat(32), SECRET_HASH] };
const SETTINGS: Settings = {
  ...OTHER_SETTINGS,
  loginConcurrency: 100,
  edge: EDGE,
};

type Script = Record<string, ScriptedResponse | ((input: Input) => ScriptedResponse)>;
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
const attributes = (confirmed: number) => ({
  xml: `<GetTopicAttributesResponse><GetTopicAttributesResult><Attributes>
    <entry><key>SubscriptionsPending</key><value>1</value></entry>
    <entry><key>SubscriptionsConfirmed</key><value>${confirmed}</value></entry>
  </Attributes></GetTopicAttributesResult></GetTopicAttributesResponse>`,
});
const stack = (status: string, isProtected = true, description = 'Gatehouse') => ({
  xml: `<DescribeStacksResponse><DescribeStacksResult><Stacks><member>
    <StackName>Gatehouse-moon</StackName><StackStatus>${status}</StackStatus>
    <Description>${description}</Description>
    <EnableTerminationProtection>${isProtected}</EnableTerminationProtection>
    <Outputs><member>
      <OutputKey>TableName</OutputKey><OutputValue>Gate</OutputValue>
    </member></Outputs>
  </member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
});
const NO_STACK = {
  error: 'ValidationError',
  message: 'Stack with id Gatehouse-moon does not exist',
};
const alarmFor = (topic: string) => ({
  xml: `<DescribeAlarmsResponse><DescribeAlarmsResult><MetricAlarms>${topic}</MetricAlarms>
  </DescribeAlarmsResult></DescribeAlarmsResponse>`,
});
const certificate = (Status: string, ...SubjectAlternativeNames: string[]) => ({
  Certificate: { Status, SubjectAlternativeNames, NotAfter: 4_000_000_000 },
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
/** All keys of the stack, or one of them, in this state. */
const key = (changes: object, id?: string): Script => ({
  DescribeKey: ({ KeyId }) => keyMetadata(id === undefined || KeyId === id ? changes : {}),
});
const replica = (changes: object): Script => ({
  'eu-west-1 DescribeKey': {
    KeyMetadata: {
      ...keyMetadata().KeyMetadata,
      MultiRegionConfiguration: { MultiRegionKeyType: 'REPLICA' },
      ...changes,
    },
  },
});
const KEY_ARN = 'arn:aws:kms:eu-north-1:1:key/mrk-2';
const tagged = (...arns: string[]): Script => ({
  GetResources: { ResourceTagMappingList: arns.map((ResourceARN) => ({ ResourceARN })) },
});
/** The stack does not know this key. */
const without = (id: string): Script => ({
  DescribeStackResource: ({ LogicalResourceId }) =>
    LogicalResourceId === id ? NO_STACK : resource(LogicalResourceId),
});
/** A key that the stack does not know has this purpose. */
const found = (purpose: string, KeyState = 'Enabled'): Script => ({
  DescribeKey: ({ KeyId }) =>
    KeyId === KEY_ARN
      ? { KeyMetadata: { KeyState, Description: `Gatehouse: ${purpose}` } }
      : keyMetadata(),
});
const ROTATED = { KeyRotationEnabled: true };
const resource = (id: string, status = 'CREATE_COMPLETE') => ({
  xml: `<StackResourceDetail>
    <PhysicalResourceId>${id}-1</PhysicalResourceId><ResourceStatus>${status}</ResourceStatus>
  </StackResourceDetail>`,
});
const timeToLive = (TimeToLiveStatus: string, AttributeName = 'expires'): Script => ({
  DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus, AttributeName } },
});
const TRAIL = 'arn:aws:cloudtrail:eu-north-1:123456789012:trail/all';
const TRAIL_OF_ACCOUNT = { TrailARN: TRAIL, HomeRegion: 'eu-south-2' };
const TRAIL_OF_ORGANIZATION = { ...TRAIL_OF_ACCOUNT, TrailARN: 'arn:2', IsOrganizationTrail: true };
const selectors = (...EventSelectors: object[]): Script => ({
  GetEventSelectors: { EventSelectors },
});
const advanced = (...FieldSelectors: object[]): Script => ({
  GetEventSelectors: { AdvancedEventSelectors: [{ FieldSelectors }] },
});
const MANAGEMENT = { Field: 'eventCategory', Equals: ['Management'] };
const verified = {
  VerifiedForSendingStatus: true,
  DkimAttributes: { Status: 'SUCCESS' },
  MailFromAttributes: { MailFromDomainStatus: 'SUCCESS' },
};
const unsigned = { ...verified, DkimAttributes: { Status: 'PENDING' } };
const mapping = (id: string, State = 'Enabled', LastProcessingResult = 'OK'): Script => ({
  [`GET /2015-03-31/event-source-mappings/${id}-1`]: { UUID: id, State, LastProcessingResult },
});
const NOT_FOUND = { error: 'NotFoundException', message: 'not found' };

const LOG_GROUPS = logGroupsOf('moon', SETTINGS);
const logGroups = (...names: string[]) => ({
  logGroups: names.map((logGroupName) => ({ logGroupName })),
});
/** A page of the resources of a stack. */
const listed = (names: readonly string[], next?: string, status = 'CREATE_COMPLETE') => ({
  xml: `<StackResourceSummaries>${names
    .map(
      (name) =>
        `<member><PhysicalResourceId>${name}</PhysicalResourceId><ResourceStatus>${status}</ResourceStatus></member>`,
    )
    .join('')}</StackResourceSummaries>${next ? `<NextToken>${next}</NextToken>` : ''}`,
});

const READY: Script = {
  GetParameter: { Parameter: { Value: '99' } },
  DescribeStacks: stack('CREATE_COMPLETE'),
  DescribeLogGroups: ({ logGroupNamePrefix }) => logGroups(logGroupNamePrefix),
  ListStackResources: ({ NextToken }) =>
    NextToken ? listed(LOG_GROUPS.slice(2)) : listed(LOG_GROUPS.slice(0, 2), 'next'),
  [`GET ${SENDER}`]: NOT_FOUND,
  [`GET ${DOMAIN}`]: verified,
  'GET /v2/email/configuration-sets/events': { ConfigurationSetName: 'events' },
  'GET /v2/email/account': { ProductionAccessEnabled: true, SendingEnabled: true },
  ...concurrency(500),
  ...gatewayQuota(22, 44),
  DescribeCertificate: certificate('ISSUED', 'one.example', '*.one.example'),
  GetTopicAttributes: attributes(1),
  ...table(),
  ...mapping(MAPPINGS['mail-delayed']),
  ...mapping(MAPPINGS['audit-delayed'], 'Updating', 'No records processed'),
  ...recovery('ENABLED'),
  ...timeToLive('ENABLING'),
  DescribeStackResource: ({ LogicalResourceId }) => resource(LogicalResourceId),
  ...key({}),
  ...replica({}),
  GetKeyRotationStatus: ROTATED,
  GetResources: { ResourceTagMappingList: [] },
  DescribeAlarms: alarmFor(''),
  DescribeTrails: { trailList: [TRAIL_OF_ACCOUNT] },
  GetTrailStatus: { IsLogging: true },
  ...selectors({ IncludeManagementEvents: true, ReadWriteType: 'All' }),
  // Of the edge, in another region.
  'us-east-1 GetParameter': { Parameter: { Value: '99' } },
  'us-east-1 DescribeStacks': stack('UPDATE_COMPLETE', false),
  'us-east-1 DescribeLogGroups': logGroups(),
  'us-east-1 DescribeCertificate': certificate('ISSUED', 'api.one.example'),
  'us-east-1 GetSecretValue': { SecretString: SECRET },
  'GET /account-settings': { ResourceTypeManagementPreference: { DynamoDB: true } },
  // Of the backups, in another region.
  'eu-west-1 GetParameter': { Parameter: { Value: '99' } },
  'eu-west-1 DescribeStacks': stack('UPDATE_COMPLETE', false),
  'eu-west-1 DescribeStackResource': ({ LogicalResourceId }) => resource(LogicalResourceId),
  'eu-west-1 DescribeTrails': { trailList: [TRAIL_OF_ACCOUNT] },
  'eu-west-1 GetTrailStatus': { IsLogging: true },
  'eu-west-1 GetEventSelectors': {
    EventSelectors: [{ IncludeManagementEvents: true, ReadWriteType: 'All' }],
  },
};

const stops: (() => void)[] = [];
afterAll(() => {
  vi.unstubAllEnvs();
  for (const stop of stops) stop();
});

async function serve(script: Script, prefix = '') {
  const aws = await scriptedAws((operation, input) => {
    const response = script[prefix + operation];
    return typeof response === 'function' ? response(input) : response;
  });
  stops.push(aws.stop);
  return aws;
}

/** What is missing, by the name of its check. */
async function missing(changes: Script, settings = SETTINGS) {
  const script = { ...READY, ...changes };
  const { environment } = await serve(script);
  const inEdgeRegion = await serve(script, 'us-east-1 ');
  const inBackupRegion = await serve(script, 'eu-west-1 ');
  const others: Readonly<Record<string, { environment: NodeJS.ProcessEnv }>> = {
    'us-east-1': inEdgeRegion,
    'eu-west-1': inBackupRegion,
  };
  vi.stubEnv('AWS_ACCESS_KEY_ID', environment.AWS_ACCESS_KEY_ID);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', environment.AWS_SECRET_ACCESS_KEY);
  const checks = checksOf('moon', settings, (region) =>
    awsReader(region, (others[region]?.environment ?? environment).AWS_ENDPOINT_URL),
  );
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await check()] as const),
  );
  return Object.fromEntries(results.filter(([, result]) => result !== undefined));
}

describe('an account', () => {
  it('that has everything lacks nothing', async () => {
    expect(await missing({})).toEqual({});
    expect(await missing({ [`GET ${SENDER}`]: verified })).toEqual({});
  });

  const { configurationSet: _, ...mailWithoutSet } = SETTINGS.mail;
  const { edge: __, ...withoutEdge } = SETTINGS;
  const { loginConcurrency: ___, ...withoutConcurrency } = SETTINGS;
  const { backup: ____, ...WITHOUT_BACKUP } = SETTINGS;
  const WITHOUT_STACK: Script = {
    DescribeStacks: NO_STACK,
    DescribeStackResource: NO_STACK,
    DescribeLogGroups: logGroups(),
  };
  const KEPT = { ...SETTINGS, keepData: true, unprotected: false };
  const NO_CERTIFICATE = { error: 'ResourceNotFoundException' };

  it.each<[string, Script, Settings?]>([
    ['was never bootstrapped', { GetParameter: { error: 'ParameterNotFound' } }],
    ['was bootstrapped long ago', { GetParameter: { Parameter: { Value: '5' } } }],
    [
      'was bootstrapped by an older CDK',
      { GetParameter: { Parameter: { Value: String(BOOTSTRAP_VERSION) } } },
    ],
    ...['ROLLBACK_COMPLETE', 'REVIEW_IN_PROGRESS', 'DELETE_FAILED'].map(
      (status): [string, Script] => [
        `has a stack in ${status}`,
        { DescribeStacks: stack(status, false) },
      ],
    ),
    ...['UPDATE_FAILED', 'UPDATE_ROLLBACK_FAILED', 'IMPORT_ROLLBACK_FAILED'].map(
      (status): [string, Script] => [`has a stack in ${status}`, { DescribeStacks: stack(status) }],
    ),
    ['has a protected stack whose creation failed', { DescribeStacks: stack('ROLLBACK_FAILED') }],
    [
      'has a stack whose second deployment was forgotten',
      { DescribeStacks: stack('CREATE_COMPLETE', false) },
      KEPT,
    ],
    [
      'has log groups of a deleted stack',
      {
        DescribeStacks: NO_STACK,
        DescribeLogGroups: ({ logGroupNamePrefix }) =>
          logGroups(...LOG_GROUPS.filter((name) => name === logGroupNamePrefix).slice(0, 1)),
      },
    ],
    [
      'has the log group of a function that a setting adds again',
      { ListStackResources: listed(LOG_GROUPS, undefined, 'DELETE_SKIPPED') },
    ],
    [
      'has a stack with a topic that nobody has subscribed to',
      {
        DescribeAlarms: alarmFor(
          '<member><AlarmActions><member>arn:aws:sns:eu-north-1:1:own</member></AlarmActions></member>',
        ),
        GetTopicAttributes: attributes(0),
      },
      { ...SETTINGS, alarms: 'operators@one.example' },
    ],
    [
      'has a stack of the edge that failed',
      { 'us-east-1 DescribeStacks': stack('ROLLBACK_COMPLETE', false) },
    ],
    [
      'has the edge of an environment of this name in another region',
      {
        'us-east-1 DescribeStacks': stack('UPDATE_COMPLETE', false, edgeDescription('eu-south-1')),
      },
    ],
    ['has no identity', { [`GET ${DOMAIN}`]: NOT_FOUND }],
    ['has an unverified address', { [`GET ${SENDER}`]: { VerifiedForSendingStatus: false } }],
    ['has an unverified domain', { [`GET ${DOMAIN}`]: { VerifiedForSendingStatus: false } }],
    ['has a domain without DKIM', { [`GET ${DOMAIN}`]: unsigned }],
    [
      'has a verified address without its domain',
      { [`GET ${SENDER}`]: { ...verified, MailFromAttributes: {} }, [`GET ${DOMAIN}`]: NOT_FOUND },
    ],
    [
      'has a verified address with a domain without DKIM',
      { [`GET ${SENDER}`]: verified, [`GET ${DOMAIN}`]: unsigned },
    ],
    [
      'has a domain without MAIL FROM',
      { [`GET ${DOMAIN}`]: { ...verified, MailFromAttributes: {} } },
    ],
    [
      'has an address without MAIL FROM',
      { [`GET ${SENDER}`]: { ...verified, MailFromAttributes: {} } },
    ],
    [
      'has an identity with a default configuration set that the settings do not name',
      { [`GET ${DOMAIN}`]: { ...verified, ConfigurationSetName: 'default' } },
      { ...SETTINGS, mail: mailWithoutSet },
    ],
    ['lacks the configuration set', { 'GET /v2/email/configuration-sets/events': NOT_FOUND }],
    [
      'is in the sandbox',
      { 'GET /v2/email/account': { ProductionAccessEnabled: false, SendingEnabled: true } },
    ],
    [
      'may not send',
      { 'GET /v2/email/account': { ProductionAccessEnabled: true, SendingEnabled: false } },
    ],
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
    ['throttles all APIs below the rate of a route', gatewayQuota(21, 44)],
    ['throttles bursts below those of a route', gatewayQuota(22, 43)],
    ['has no such certificate', { DescribeCertificate: NO_CERTIFICATE }],
    // Without an edge, the host is no origin that the name of the certificate must hide.
    [
      'has no such certificate, without an edge',
      { DescribeCertificate: NO_CERTIFICATE },
      withoutEdge,
    ],
    [
      'has a certificate for another name',
      { DescribeCertificate: certificate('ISSUED', 'one.example', '*.gate.one.example') },
    ],
    [
      'has a certificate that was not issued',
      { DescribeCertificate: certificate('PENDING_VALIDATION', 'gate.one.example') },
    ],
    ['has no topic', { GetTopicAttributes: { error: 'NotFound' } }],
    ['has a topic that nobody has subscribed to', { GetTopicAttributes: attributes(0) }],
    [
      'was bootstrapped in the region of the environment only',
      { 'us-east-1 GetParameter': { error: 'ParameterNotFound' } },
    ],
    [
      'has no certificate for the edge',
      { 'us-east-1 DescribeCertificate': certificate('ISSUED', 'one.example') },
    ],
    [
      'has a certificate for the edge that was not issued',
      { 'us-east-1 DescribeCertificate': certificate('PENDING_VALIDATION', 'api.one.example') },
    ],
    [
      'has disabled the mapping that hands over mail',
      mapping(MAPPINGS['mail-delayed'], 'Disabled'),
    ],
    [
      'has lost the mapping that hands over mail',
      {
        [`GET /2015-03-31/event-source-mappings/${MAPPINGS['mail-delayed']}-1`]: {
          error: 'ResourceNotFoundException',
          message: 'not found',
        },
      },
    ],
    [
      'no longer reads the stream for the log of the audit trail',
      mapping(MAPPINGS['audit-delayed'], 'Enabled', 'PROBLEM: access denied'),
    ],
    [
      'does not copy backups',
      { 'GET /account-settings': { ResourceTypeManagementPreference: { DynamoDB: false } } },
    ],
    [
      'was not bootstrapped in the region of the backups',
      { 'eu-west-1 GetParameter': { error: 'ParameterNotFound' } },
    ],
    [
      'has a stack of the backups that failed',
      { 'eu-west-1 DescribeStacks': stack('ROLLBACK_COMPLETE', false) },
    ],
    ['has lost its table', { DescribeTable: { error: 'ResourceNotFoundException' } }],
    ['has a table that anybody may delete', table(false), KEPT],
    ['has a table without point-in-time recovery', recovery('DISABLED'), KEPT],
    ['has a table that keeps expired items', timeToLive('DISABLED')],
    ['has a table that expires items by another attribute', timeToLive('ENABLED', 'ttl')],
    [
      'has an adopted table with another maximum',
      table(true, 9),
      { ...SETTINGS, existing: { table: 'Gate' } },
    ],
    ['has lost a key', { DescribeKey: NOT_FOUND }],
    [
      'has a table of a deleted stack',
      { ...WITHOUT_STACK, ...tagged('arn:aws:dynamodb:eu-north-1:1:table/Gate') },
      KEPT,
    ],
    [
      'has a key of a later release that was rolled back',
      {
        ...without('FactorKey'),
        ...tagged(KEY_ARN),
        ...found('derives the secrets of second factors'),
      },
      KEPT,
    ],
    [
      'has a key that is about to be deleted, and would be created anew',
      {
        ...without('ValuesKey'),
        ...tagged(KEY_ARN),
        ...found('wraps the keys of parameter values', 'PendingDeletion'),
      },
      KEPT,
    ],
    ['has a disabled key', key({ KeyState: 'Disabled' }, 'FactorKey-1')],
    ['has a key without its material', key({ KeyState: 'PendingImport' }, 'ValuesKey-1')],
    [
      'has a key that is about to be deleted, besides one that is not rotated',
      {
        ...key({ KeyState: 'PendingReplicaDeletion' }, 'PepperKeyA-1'),
        GetKeyRotationStatus: { KeyRotationEnabled: false },
      },
    ],
    ['has a key that is not rotated', { GetKeyRotationStatus: { KeyRotationEnabled: false } }],
    ['has a key without a replica', { DescribeKey: keyMetadata({}, 'eu-south-1') }],
    ['has a replica that is about to be deleted', replica({ KeyState: 'PendingDeletion' })],
    [
      'has a replica that a failed creation is about to delete',
      {
        ...replica({ KeyState: 'PendingDeletion' }),
        'eu-west-1 DescribeStackResource': resource('ValuesKey', 'DELETE_COMPLETE'),
      },
    ],
    [
      'has a replica of a deleted stack',
      { 'eu-west-1 DescribeStacks': NO_STACK, 'eu-west-1 DescribeStackResource': NO_STACK },
    ],
    [
      'has an alarm that stops a canary',
      {
        DescribeAlarms: alarmFor('<member><AlarmName>Gatehouse-moon-defects</AlarmName></member>'),
      },
    ],
    [
      'has no trail in the region of the backups',
      { 'eu-west-1 DescribeTrails': { trailList: [] } },
    ],
    ['has no trail', { DescribeTrails: { trailList: [] } }],
    ['has a trail that was stopped', { GetTrailStatus: { IsLogging: false } }],
    [
      'has a trail of data only',
      selectors({ IncludeManagementEvents: false, ReadWriteType: 'All' }),
    ],
    [
      'has a trail of reads only',
      selectors({ IncludeManagementEvents: true, ReadWriteType: 'ReadOnly' }),
    ],
    [
      'has a trail without KMS',
      selectors({
        IncludeManagementEvents: true,
        ReadWriteType: 'All',
        ExcludeManagementEventSources: ['kms.amazonaws.com'],
      }),
    ],
    [
      'has an advanced trail without KMS',
      advanced(MANAGEMENT, { Field: 'eventSource', NotEquals: ['kms.amazonaws.com'] }),
    ],
    [
      'has a trail of the organization that it cannot read',
      {
        DescribeTrails: { trailList: [TRAIL_OF_ORGANIZATION] },
        GetEventSelectors: { error: 'TrailNotFoundException' },
      },
    ],
    [
      'has a certificate that was not renewed',
      {
        DescribeCertificate: {
          Certificate: {
            Status: 'ISSUED',
            SubjectAlternativeNames: ['*.one.example'],
            NotAfter: 0,
          },
        },
      },
    ],
    [
      'has an imported certificate that expires',
      {
        DescribeCertificate: {
          Certificate: {
            Status: 'ISSUED',
            SubjectAlternativeNames: ['*.one.example'],
            NotAfter: 0,
            Type: 'IMPORTED',
          },
        },
      },
    ],
    ['shares other executions than the settings say', concurrency(500, 172)],
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
    ['has no secret', { 'us-east-1 GetSecretValue': { error: 'ResourceNotFoundException' } }],
    [
      'has a secret that could be guessed',
      { 'us-east-1 GetSecretValue': { SecretString: '{"secret":"guessable"}' } },
    ],
    [
      'has a secret that the functions do not accept',
      {},
      { ...SETTINGS, edge: OTHER_SETTINGS.edge },
    ],
  ])('that %s lacks one piece, for which there is a remedy', async (_, changes, settings) => {
    const lacking = await missing(changes, settings);

    expect(Object.keys(lacking)).toHaveLength(1);
    expect(lacking).toMatchSnapshot();
  });

  it.each<[string, Script]>([
    ['records all changes by advanced selectors', advanced(MANAGEMENT)],
    ['records changes only', advanced(MANAGEMENT, { Field: 'readOnly', Equals: ['false'] })],
    [
      'leaves out the Data API of RDS',
      selectors({
        IncludeManagementEvents: true,
        ReadWriteType: 'WriteOnly',
        ExcludeManagementEventSources: ['rdsdata.amazonaws.com'],
      }),
    ],
    [
      'leaves it out by advanced selectors',
      advanced(MANAGEMENT, { Field: 'eventSource', NotEquals: ['rdsdata.amazonaws.com'] }),
    ],
    [
      'it cannot read, beside one that is complete',
      {
        DescribeTrails: {
          trailList: [TRAIL_OF_ORGANIZATION, TRAIL_OF_ACCOUNT],
        },
        GetEventSelectors: ({ TrailName }) =>
          TrailName === TRAIL
            ? { EventSelectors: [{ IncludeManagementEvents: true }] }
            : { error: 'AccessDeniedException' },
      },
    ],
  ])('may have a trail that %s', async (_, changes) => {
    expect(await missing(changes)).toEqual({});
  });

  it('has a trail of its own that the credentials must be able to read', async () => {
    const changes = { GetEventSelectors: { error: 'AccessDeniedException' } };

    await expect(missing(changes)).rejects.toThrow('AccessDenied');
  });

  it.each<[string, Script, Settings?]>([
    ['that KMS does not rotate', key({ Origin: 'EXTERNAL' })],
    [
      'of another region',
      { ...key({ MultiRegionConfiguration: { MultiRegionKeyType: 'REPLICA' } }) },
      WITHOUT_BACKUP,
    ],
    ['that is being changed', key({ KeyState: 'Updating' })],
    [
      'that a failed deployment has deleted',
      {
        ...key({ KeyState: 'PendingDeletion' }),
        DescribeStackResource: resource('TableKey', 'DELETE_COMPLETE'),
      },
    ],
  ])('may have a key %s', async (_, changes, settings) => {
    const unrotated = { GetKeyRotationStatus: { KeyRotationEnabled: _.includes('changed') } };

    expect(await missing({ ...changes, ...unrotated }, settings)).toEqual({});
  });

  it.each<[string, Script, Settings?]>([
    ['of another purpose', { ...without('FactorKey'), ...found('protects password hashes') }],
    [
      'beside the one that replaces it',
      { ...without('PepperKeyB'), ...found('protects password hashes') },
    ],
    [
      'that signed tokens',
      { ...without('SigningKeyB'), ...found('signs tokens') },
      { ...KEPT, signingKeys: ['SigningKeyB'] },
    ],
    [
      'that no longer exists',
      {
        ...without('FactorKey'),
        DescribeKey: ({ KeyId }) => (KeyId === KEY_ARN ? NOT_FOUND : keyMetadata()),
      },
    ],
    [
      'of data that is not kept',
      { ...without('FactorKey'), ...found('derives the secrets of second factors') },
      SETTINGS,
    ],
  ])('may have a former key %s', async (_, changes, settings = KEPT) => {
    expect(await missing({ ...changes, ...tagged(KEY_ARN) }, settings)).toEqual({});
  });

  it('may have a replica that the settings say exists', async () => {
    const existingReplicas = ['ValuesKey', 'FactorKey', 'PepperKeyA', 'PepperKeyB'];
    const changes = { 'eu-west-1 DescribeStackResource': NO_STACK };

    expect(
      await missing(changes, {
        ...SETTINGS,
        backup: { ...OTHER_SETTINGS.backup, existingReplicas },
      }),
    ).toEqual({});
  });

  it('has an adopted table, and not the one that is deployed', async () => {
    const settings = { ...SETTINGS, existing: { table: 'Restored' } };
    const DescribeTable = ({ TableName }: Input) =>
      TableName === 'Restored' ? (READY.DescribeTable as object) : NOT_FOUND;

    expect(await missing({ DescribeTable }, settings)).toEqual({});
  });

  it('is not asked for what the settings do not need', async () => {
    const { loginConcurrency: _, alarms: __, domain: ___, ...others } = SETTINGS;
    const { edge: ____, backup: _____, ...fewer } = others;
    const lacking: Script = {
      ...concurrency(100),
      DescribeStacks: NO_STACK,
      DescribeLogGroups: logGroups(),
      DescribeAlarms: alarmFor(''),
      GetTopicAttributes: { error: 'NotFound' },
      DescribeCertificate: { error: 'ResourceNotFoundException' },
      'us-east-1 GetSecretValue': { error: 'ResourceNotFoundException' },
      'GET /account-settings': { ResourceTypeManagementPreference: { DynamoDB: false } },
      [`GET ${DOMAIN}`]: { ...verified, ConfigurationSetName: 'default' },
    };

    expect(await missing(lacking, fewer)).toEqual({});
    // The stack itself creates the topic of an e-mail address, and is not deployed.
    const alarms = 'operators@one.example';
    expect(await missing({ ...lacking, ...concurrency(500, 9) }, { ...fewer, alarms })).toEqual({});
  });

  it.each<[string, object]>([
    ['settings leave it unprotected', { keepData: true, unprotected: true }],
    ['it keeps no data', { keepData: false, unprotected: false }],
  ])('may have a stack without protection while %s', async (_, changes) => {
    const deployed = { DescribeStacks: stack('UPDATE_COMPLETE', false) };

    expect(await missing(deployed, { ...SETTINGS, ...changes })).toEqual({});
  });

  it.each<[string, Partial<Settings>]>([
    ['', { dailyVerification: false }],
    [' with all options', { dailyVerification: true, auditLogDays: 150 }],
  ])('is searched for the log groups of a stack%s', (_, changes) => {
    const groups = Object.values(
      templateOf('prod', changes).findResources('AWS::Logs::LogGroup'),
    ).map(({ Properties }) => Properties.LogGroupName);

    const settings = { ...SETTINGS, auditLogDays: undefined, ...changes };
    expect(groups.sort()).toEqual(logGroupsOf('prod', settings).toSorted());
  });

  it('must be bootstrapped with the version that the cloud assembly requires', () => {
    const { artifacts } = JSON.parse(
      readFileSync(join(inject('assembly'), 'manifest.json'), 'utf8'),
    );

    expect(artifacts['Gatehouse-dev'].properties.requiresBootstrapStackVersion).toBe(
      BOOTSTRAP_VERSION,
    );
  });
});

it('the mappings of the stream have the logical ids that the stack gives them', () => {
  const mappings = templateOf('prod', { auditLogDays: 30 }).findResources(
    'AWS::Lambda::EventSourceMapping',
  );

  expect(Object.keys(mappings).sort()).toEqual(Object.values(MAPPINGS).sort());
});

describe('a response of AWS', () => {
  async function readerOf(status: number, text: string, headers: Record<string, string> = {}) {
    const server = createServer((_, outgoing) =>
      outgoing.writeHead(status, headers).end(text),
    ).listen(0, '127.0.0.1');
    stops.push(() => server.close());
    await once(server, 'listening');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'operator');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
    return awsReader('eu-north-1', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
  const xml = (code: string) =>
    `<ErrorResponse><Error><Code>${code}</Code><Message>so it is</Message></Error>`;

  it.each<[string, string, Record<string, string>, string, string]>([
    [
      'in a header',
      '{"message":"so"}',
      { 'x-amzn-errortype': 'AccessDeniedException:http://x' },
      'AccessDenied',
      'so',
    ],
    [
      'in JSON',
      '{"__type":"com.amazon#AccessDeniedException","Message":"so"}',
      {},
      'AccessDenied',
      'so',
    ],
    ['in XML', xml('ExpiredToken'), {}, 'ExpiredToken', 'so it is'],
    ['in XML, abbreviated', xml('AuthorizationError'), {}, 'AccessDenied', 'so it is'],
    ['nowhere', 'Oops', {}, 'HTTP 403', 'HTTP 403'],
  ])('has the name of its error %s', async (_, text, headers, name, message) => {
    const aws = await readerOf(403, text, headers);

    const error = await aws.read('sns', 'GetTopicAttributes').catch((error) => error);

    expect([error.name.replace(/Exception$/, ''), error.message]).toEqual([name, message]);
  });

  it('comes from the endpoint of the service when AWS_ENDPOINT_URL is empty', async () => {
    const fetched = vi.fn(async (_url: URL) => new Response('{}'));
    vi.stubGlobal('fetch', fetched);
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubEnv('AWS_ENDPOINT_URL', '');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'operator');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');

    await awsReader('eu-north-1').read('sns', 'GetTopicAttributes');

    expect(fetched.mock.calls.map(([url]) => String(url))).toEqual([
      'https://sns.eu-north-1.amazonaws.com/',
    ]);
  });

  it('must name the account of the credentials', async () => {
    const aws = await readerOf(200, '<GetCallerIdentityResult/>');

    await expect(requireAccount(aws, 'moon', SETTINGS)).rejects.toThrow(
      'STS does not name the account of the credentials.',
    );
  });

  it('must be of the account that the settings name', async () => {
    const aws = await readerOf(200, '<Account>210987654321</Account>');
    const other: [string, string][] = [['123456789012', 'prod']];
    const same: [string, string][] = [...other, ['210987654321', 'staging']];
    vi.stubEnv('AWS_REGION', 'eu-north-1');

    await expect(requireAccount(aws, 'moon', SETTINGS)).rejects.toThrow(
      'The credentials are of the account 210987654321, but environments/moon.json names 123456789012.',
    );
    await expect(
      requireAccount(aws, 'moon', { ...SETTINGS, account: '210987654321' }),
    ).resolves.toBe('210987654321');
    await expect(requireKnownAccount(other, () => aws)).rejects.toThrow(
      'The credentials are of the account 210987654321; the files in environments/ name 123456789012 (prod).',
    );
    await expect(requireKnownAccount(same, () => aws)).resolves.toBeUndefined();
    await expect(requireKnownAccount([], () => aws)).resolves.toBeUndefined();
  });
});

describe('npm run admin -- preflight', () => {
  /** What the environment `dev` needs. */
  const DEV: Script = {
    ...READY,
    DescribeLogGroups: logGroups(),
    ...gatewayQuota(10_000, 5000),
    'GET /v2/email/identities/gatehouse%40gatehouse.dev': NOT_FOUND,
    'GET /v2/email/identities/gatehouse.dev': verified,
    GetCallerIdentity: {
      xml: '<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>',
    },
  };

  const DEV_OPTIONS = ['--env', 'dev'];
  const withDev = (changes: Script): Script => ({ ...DEV, ...changes });
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

  it.each<[string, number, string[], Script?, object?]>([
    ['everything is ready', 0, DEV_OPTIONS],
    [
      'a piece is missing',
      1,
      DEV_OPTIONS,
      withDev({ GetParameter: { error: 'ParameterNotFound' } }),
    ],
    ['there is only a warning', 0, DEV_OPTIONS, withDev(gatewayQuota(2500, 125))],
    [
      'one piece cannot be read and another is missing',
      2,
      DEV_OPTIONS,
      withDev({
        GetParameter: DENIED,
        'GET /v2/email/account': { ProductionAccessEnabled: false },
      }),
    ],
    ['there are no credentials', 2, DEV_OPTIONS, DEV, NO_CREDENTIALS],
    [
      'the credentials have expired',
      2,
      DEV_OPTIONS,
      withDev({ GetCallerIdentity: { error: 'ExpiredToken', message: 'expired' } }),
    ],
    ['it is asked for help', 0, ['--help']],
    ['no environment is given', 2, []],
    ['an option is unknown', 2, ['--environment', 'dev']],
    ['the environment is unknown', 2, ['--env', 'moon']],
    ['the environment has placeholders', 2, ['--env', 'prod']],
  ])('exits with the documented status when %s: %i', async (...row) => {
    const [, status, options, script = DEV, changes = {}] = row;
    const { environment } = await serve(script);

    const { code, stdout, stderr } = await runCommand(
      'preflight',
      options,
      { ...environment, ...changes },
      inject('repository'),
    );

    expect(code).toBe(status);
    expect([stdout, stderr].map((text) => text.split('\n').slice(0, -1))).toMatchSnapshot();
  });
});
