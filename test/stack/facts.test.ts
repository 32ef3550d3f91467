import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import type { Settings } from '../../infra/settings/settings.ts';
import { routes } from '../../routes.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { readableTemplate } from '../support/stack/readable-template.ts';
import { shippedSettings } from '../support/stack/shipped-context.ts';
import {
  assemblyOf,
  type Resource,
  resourcesOf,
  synthesizeInProcess,
  templateOf,
} from '../support/stack/stack.ts';

/*
 * Facts about templates. Each one states a resource in full, so that no property can be added or
 * removed unnoticed. The snapshot of the production template at the end covers everything else.
 */

const prod = templateOf('prod');
const dev = templateOf('dev');
const other = templateOf('prod', OTHER_SETTINGS);

const ENVIRONMENTS = [
  { name: 'prod', template: prod, keep: true, environment: 'prod', days: 365 },
  { name: 'dev', template: dev, keep: false, environment: 'dev', days: 7 },
  { name: 'other', template: other, keep: false, environment: 'prod', days: 90 },
];

const policies = (keep: boolean) =>
  keep
    ? { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' }
    : { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' };
const tags = (environment: string) => [{ Key: 'gatehouse:environment', Value: environment }];
const arnOf = (logicalId: string) => ({ 'Fn::GetAtt': [logicalId, 'Arn'] });

/** The function of a route, by its description. */
function functionOf(
  template: typeof prod,
  description: string,
): [logicalId: string, resource: Resource] {
  const found = Object.entries(resourcesOf(template, 'AWS::Lambda::Function')).filter(
    ([, { Properties }]) => Properties.Description === description,
  );
  expect(found).toHaveLength(1);
  return found[0] as [string, Resource];
}

describe.each(ENVIRONMENTS)('the table of $name', ({ template, keep, environment }) => {
  it('is a single table with its settings for durability and security', () => {
    const maxima = { prod: [12_000, 4000], dev: [4000, 2000] }[environment] ?? [];
    const both = [arnOf('PepperKeyB'), ' ', arnOf('PepperKeyA')];
    const pepperKeys = template === other ? { 'Fn::Join': ['', both] } : arnOf('PepperKey');
    const [MaxReadRequestUnits, MaxWriteRequestUnits] = template === other ? [7001, 3001] : maxima;

    expect(resourcesOf(template, 'AWS::DynamoDB::Table')).toEqual({
      Table: {
        Type: 'AWS::DynamoDB::Table',
        ...policies(keep),
        Properties: {
          AttributeDefinitions: [
            { AttributeName: 'pk', AttributeType: 'S' },
            { AttributeName: 'sk', AttributeType: 'S' },
          ],
          KeySchema: [
            { AttributeName: 'pk', KeyType: 'HASH' },
            { AttributeName: 'sk', KeyType: 'RANGE' },
          ],
          BillingMode: 'PAY_PER_REQUEST',
          OnDemandThroughput: { MaxReadRequestUnits, MaxWriteRequestUnits },
          DeletionProtectionEnabled: keep,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: keep },
          StreamSpecification: { StreamViewType: 'KEYS_ONLY' },
          SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: arnOf('TableKey') },
          TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true },
          Tags: [
            ...tags(environment),
            { Key: 'gatehouse:pepper-key', Value: pepperKeys },
            { Key: 'gatehouse:values-key', Value: arnOf('ValuesKey') },
          ],
        },
      },
    });
  });
});

it('an unprotected environment keeps its data, but its stack and table can be deleted', () => {
  const template = templateOf('prod', { unprotected: true });
  const { artifacts } = JSON.parse(
    readFileSync(join(assemblyOf('prod', { unprotected: true }), 'manifest.json'), 'utf8'),
  );
  const { Table: protectedTable } = resourcesOf(prod, 'AWS::DynamoDB::Table');

  expect(artifacts['Gatehouse-prod'].properties.terminationProtection).toBe(false);
  expect(resourcesOf(template, 'AWS::DynamoDB::Table')).toEqual({
    Table: {
      ...protectedTable,
      Properties: { ...protectedTable?.Properties, DeletionProtectionEnabled: false },
    },
  });
});

describe.each(ENVIRONMENTS)('the keys of $name', ({ template, keep, environment }) => {
  const SYMMETRIC = {
    KeySpec: 'SYMMETRIC_DEFAULT',
    KeyUsage: 'ENCRYPT_DECRYPT',
    EnableKeyRotation: true,
  };
  const SIGNING = { KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY', EnableKeyRotation: false };
  const HMAC = { KeySpec: 'HMAC_256', KeyUsage: 'GENERATE_VERIFY_MAC', EnableKeyRotation: false };
  const key = (purpose: string, properties: object) => ({
    Type: 'AWS::KMS::Key',
    ...policies(keep),
    Properties: {
      Description: `Gatehouse: ${purpose}`,
      ...properties,
      KeyPolicy: {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Allow',
            Action: 'kms:*',
            Principal: {
              AWS: {
                'Fn::Join': [
                  '',
                  ['arn:', { Ref: 'AWS::Partition' }, ':iam::', { Ref: 'AWS::AccountId' }, ':root'],
                ],
              },
            },
            Resource: '*',
          },
        ],
      },
      Tags: tags(environment),
    },
  });

  it('have their spec, usage, rotation, description and removal policy', () => {
    const signing = template === other ? ['SigningKeyB', 'SigningKeyA'] : ['SigningKey'];
    const peppers = template === other ? ['PepperKeyB', 'PepperKeyA'] : ['PepperKey'];

    expect(resourcesOf(template, 'AWS::KMS::Key')).toEqual({
      TableKey: key('encrypts the table', SYMMETRIC),
      ValuesKey: key('wraps the keys of parameter values', { ...SYMMETRIC, MultiRegion: true }),
      ...Object.fromEntries(
        peppers.map((logicalId) => [
          logicalId,
          key('protects password hashes', { ...HMAC, MultiRegion: true }),
        ]),
      ),
      ...Object.fromEntries(signing.map((logicalId) => [logicalId, key('signs tokens', SIGNING)])),
    });
  });
});

describe('a stack with an existing table and existing keys', () => {
  const keys = Object.fromEntries(
    ['TableKey', 'ValuesKey', 'PepperKey', 'SigningKey'].map((id) => [
      id,
      `arn:aws:kms:eu-central-1:123456789012:key/${id}`,
    ]),
  );
  const resources = (template: typeof prod, except: readonly string[]) =>
    Object.fromEntries(
      Object.entries(template.toJSON().Resources).filter(([id]) => !except.includes(id)),
    );

  /** A template without the hashes in logical ids, and with neighbouring texts of a join as one. */
  const comparable = (template: string): unknown =>
    JSON.parse(
      template
        .replaceAll(/(role(?:DefaultPolicy)?[0-9A-F]{8})[0-9a-f]{8}/g, '$1')
        .replaceAll(/(CurrentVersion[0-9A-F]{8})[0-9a-f]{32}/g, '$1'),
      (name, value) => {
        if (name === 'DependsOn') return value.toSorted();
        return name === 'Fn::Join' && value[0] === '' ? ['', joined(value[1])] : value;
      },
    );
  const joined = (parts: unknown[]): unknown[] => {
    const result: unknown[] = [];
    for (const part of parts) {
      const last = result.at(-1);
      if (typeof last === 'string' && typeof part === 'string')
        result[result.length - 1] = last + part;
      else result.push(part);
    }
    return result;
  };

  const STREAM =
    'arn:aws:dynamodb:eu-central-1:123456789012:table/Restored/stream/2030-01-01T00:00:00.000';

  it('creates neither, and uses their name and ARNs where it would use those of its own', () => {
    const adopting = templateOf('prod', {
      existing: { table: 'Restored', tableStream: STREAM, keys },
    });
    const { Outputs } = prod.toJSON();
    const own = JSON.stringify({
      Resources: resources(prod, ['Table', ...Object.keys(keys)]),
      Outputs,
    });
    const account = [
      'arn:',
      { Ref: 'AWS::Partition' },
      ':dynamodb:eu-central-1:',
      { Ref: 'AWS::AccountId' },
    ];
    const tableArn = { 'Fn::Join': ['', [...account, ':table/Restored']] };

    let expected = own
      .replaceAll(JSON.stringify({ 'Fn::GetAtt': ['Table', 'StreamArn'] }), JSON.stringify(STREAM))
      .replaceAll(JSON.stringify(arnOf('Table')), JSON.stringify(tableArn))
      .replaceAll(JSON.stringify({ Ref: 'Table' }), JSON.stringify('Restored'));
    for (const [id, arn] of Object.entries(keys)) {
      expected = expected
        .replaceAll(JSON.stringify(arnOf(id)), JSON.stringify(arn))
        .replaceAll(JSON.stringify({ Ref: id }), JSON.stringify(id));
    }

    const { Resources, Outputs: outputs } = adopting.toJSON();
    expect(comparable(JSON.stringify({ Resources, Outputs: outputs }))).toEqual(
      comparable(expected),
    );
  });

  it('names the command that sets tableMaximum, which it cannot set itself', () => {
    const infosOf = (changes: Partial<Settings>) =>
      Annotations.fromStack(synthesizeInProcess('prod', changes))
        .findInfo('*', Match.anyValue())
        .map(({ entry }) => entry.data);

    expect(infosOf({})).toEqual([]);
    expect(infosOf({ existing: { table: 'Restored', tableStream: STREAM } })).toEqual([
      'tableMaximum has no effect on Restored, which the stack adopts. To set it: aws ' +
        'dynamodb update-table --table-name ' +
        'Restored --on-demand-throughput MaxReadRequestUnits=12000,MaxWriteRequestUnits=4000',
    ]);
  });

  it('creates the keys that it does not adopt, and protects the table with them as before', () => {
    const adopting = templateOf('prod', {
      existing: { keys: { PepperKey: keys.PepperKey as string } },
    });
    const { Table } = resourcesOf(adopting, 'AWS::DynamoDB::Table');

    expect(Object.keys(resourcesOf(adopting, 'AWS::KMS::Key')).sort()).toEqual([
      'SigningKey',
      'TableKey',
      'ValuesKey',
    ]);
    expect(Table?.Properties.SSESpecification.KMSMasterKeyId).toEqual(arnOf('TableKey'));
    expect(Table?.Properties.Tags).toContainEqual({
      Key: 'gatehouse:pepper-key',
      Value: keys.PepperKey,
    });
  });
});

describe.each(ENVIRONMENTS)('the logs of $name', ({ template, keep, environment, days }) => {
  const groups = resourcesOf(template, 'AWS::Logs::LogGroup');

  it('are kept for the configured number of days, as long as the table', () => {
    for (const group of Object.values(groups)) {
      expect(group).toEqual({
        Type: 'AWS::Logs::LogGroup',
        ...policies(keep),
        Properties: {
          LogGroupName: expect.stringMatching(
            `^/aws/(lambda|vendedlogs)/Gatehouse-${environment}/[a-z-]+$`,
          ),
          RetentionInDays: days,
          Tags: tags(environment),
        },
      });
    }
  });

  it('consist of one log group per function and one for the HTTP API', () => {
    const ofFunctions = Object.values(resourcesOf(template, 'AWS::Lambda::Function')).map(
      ({ Properties }) => {
        expect(Properties.LoggingConfig).toEqual({ LogGroup: { Ref: expect.any(String) } });
        return Properties.LoggingConfig.LogGroup.Ref;
      },
    );
    const [stage] = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Stage'));
    const ofApi = stage?.Properties.AccessLogSettings.DestinationArn['Fn::GetAtt'][0];

    expect([...ofFunctions, ofApi].sort()).toEqual(Object.keys(groups).sort());
  });
});

describe('a stack', () => {
  it.each([
    { name: 'prod', changes: {}, protection: true, region: 'eu-central-1' },
    { name: 'dev', changes: {}, protection: false, region: 'eu-central-1' },
    { name: 'prod', changes: OTHER_SETTINGS, protection: false, region: 'eu-north-1' },
  ])(
    'of $name in $region has termination protection: $protection',
    ({ name, changes, protection, region }) => {
      const { artifacts } = JSON.parse(
        readFileSync(join(assemblyOf(name, changes), 'manifest.json'), 'utf8'),
      );
      const { environment, properties } = artifacts[`Gatehouse-${name}`];

      expect(environment).toBe(`aws://unknown-account/${region}`);
      expect(properties.terminationProtection).toBe(protection);
      expect(properties.tags).toEqual({ 'gatehouse:environment': name });
    },
  );

  it.each(ENVIRONMENTS)(
    'of $name either retains or deletes all resources that hold data',
    ({ template, keep }) => {
      const { Resources } = template.toJSON() as { Resources: Record<string, Resource> };
      const removals = Object.values(Resources).flatMap(
        ({ DeletionPolicy, UpdateReplacePolicy }) =>
          DeletionPolicy || UpdateReplacePolicy ? [{ DeletionPolicy, UpdateReplacePolicy }] : [],
      );

      expect(new Set(removals.map((removal) => JSON.stringify(removal)))).toEqual(
        new Set([JSON.stringify(policies(keep))]),
      );
    },
  );

  it.each(ENVIRONMENTS.slice(0, 2))(
    'of $name has a description, and outputs for URL and table name',
    ({ template }) => {
      const { Description, Outputs } = template.toJSON();
      const [api] = Object.keys(resourcesOf(template, 'AWS::ApiGatewayV2::Api'));

      expect(Description).toBe(
        'Gatehouse: users, roles, passwords and integrations of a security-monitoring platform',
      );
      expect(Outputs).toEqual({
        Url: { Value: { 'Fn::GetAtt': [api, 'ApiEndpoint'] } },
        TableName: { Value: { Ref: 'Table' } },
      });
    },
  );
});

/**
 * The IAM action of each table permission. Those in the second list are granted for transactions
 * only.
 */
const UNRESTRICTED = {
  get: 'dynamodb:GetItem',
  batchGet: 'dynamodb:BatchGetItem',
  query: 'dynamodb:Query',
  updateOutsideTransaction: 'dynamodb:UpdateItem',
  conditionCheck: 'dynamodb:ConditionCheckItem',
};
const IN_TRANSACTIONS = {
  put: 'dynamodb:PutItem',
  update: 'dynamodb:UpdateItem',
  delete: 'dynamodb:DeleteItem',
};

/** The table permissions of a route, including those that every route with a token has. */
function tableRights({ route, permissions, contract }: (typeof routes)[number]) {
  const { keys: _keys, ...rights } = permissions;
  const patterns: Record<string, string[]> = Object.fromEntries(
    Object.entries(rights).map(([right, keys]) => [
      right,
      keys.map((key) => key.replace(/#$/, '#*')),
    ]),
  );
  if (contract.access === 'public') return patterns;
  const query = [...(patterns.query ?? []), 'JWKS'];
  return route.startsWith('GET ')
    ? { ...patterns, query }
    : { ...patterns, query, get: [...(patterns.get ?? []), 'PRECEDENCE#*'] };
}

/** The differences between deployed stacks. */
interface Deployed {
  readonly template: typeof prod;
  readonly region: string;
  readonly signing: readonly string[];
  readonly peppers: readonly string[];
}

/** The complete policy statements for the role of a route. */
function statementsFor(
  row: (typeof routes)[number],
  { region, signing, peppers }: Deployed,
  logGroup: string,
) {
  const tableStatements = Object.entries(tableRights(row)).map(([right, keys]) => ({
    Effect: 'Allow',
    Action: { ...UNRESTRICTED, ...IN_TRANSACTIONS }[right],
    Resource: arnOf('Table'),
    Condition: {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys },
      Null: { 'dynamodb:LeadingKeys': 'false' },
      ...(right in IN_TRANSACTIONS && {
        'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
      }),
    },
  }));
  const inContext = {
    StringEquals: { 'kms:EncryptionContext:service': 'gatehouse' },
    Null: { 'kms:EncryptionContext:integration': 'false' },
  };
  const only = (ids: readonly string[]) =>
    ids.length === 1 ? arnOf(String(ids[0])) : ids.map(arnOf);
  const uses = {
    sign: { Action: ['kms:Sign', 'kms:GetPublicKey'], Resource: only(signing) },
    pepper: { Action: 'kms:GenerateMac', Resource: only(peppers) },
    seal: { Action: 'kms:GenerateDataKey', Resource: arnOf('ValuesKey'), Condition: inContext },
    unseal: { Action: 'kms:Decrypt', Resource: arnOf('ValuesKey'), Condition: inContext },
  };
  return [
    {
      Effect: 'Allow',
      Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      Resource: arnOf(logGroup),
    },
    ...tableStatements,
    ...(tableStatements.length > 0
      ? [
          {
            Effect: 'Allow',
            Action: 'kms:Decrypt',
            Resource: arnOf('TableKey'),
            Condition: { StringEquals: { 'kms:ViaService': `dynamodb.${region}.amazonaws.com` } },
          },
        ]
      : []),
    ...(row.permissions.keys ?? []).map((use) => ({ Effect: 'Allow', ...uses[use] })),
  ];
}

const DEPLOYED: Record<string, Deployed> = {
  prod: {
    template: prod,
    region: 'eu-central-1',
    signing: ['SigningKey'],
    peppers: ['PepperKey'],
  },
  other: {
    template: other,
    region: 'eu-north-1',
    signing: ['SigningKeyB', 'SigningKeyA'],
    peppers: ['PepperKeyB', 'PepperKeyA'],
  },
};

describe.each(Object.entries(DEPLOYED))('the role of a function of %s', (_, deployed) => {
  const roles = resourcesOf(deployed.template, 'AWS::IAM::Role');
  const policies = resourcesOf(deployed.template, 'AWS::IAM::Policy');

  it.each(routes)('for $route has exactly the permissions of its row', (row) => {
    const [, { Properties }] = functionOf(deployed.template, row.route);
    const [role] = Properties.Role['Fn::GetAtt'];
    const attached = Object.values(policies).filter((policy) =>
      policy.Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === role),
    );

    expect(roles[role]?.Properties).toEqual({
      AssumeRolePolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Allow',
            Action: 'sts:AssumeRole',
            Principal: { Service: 'lambda.amazonaws.com' },
          },
        ],
      },
      Tags: tags('prod'),
    });
    expect(attached).toHaveLength(1);
    expect(attached[0]?.Properties.Roles).toEqual([{ Ref: role }]);
    const { Version, Statement } = (attached[0] as Resource).Properties.PolicyDocument;
    expect(Version).toBe('2012-10-17');
    const expected = statementsFor(row, deployed, Properties.LoggingConfig.LogGroup.Ref);
    expect(Statement).toHaveLength(expected.length);
    expect(Statement).toEqual(expect.arrayContaining(expected));
  });

  it('belongs to one function only', () => {
    const used = Object.values(resourcesOf(deployed.template, 'AWS::Lambda::Function')).map(
      ({ Properties }) => Properties.Role['Fn::GetAtt'][0],
    );

    const ofFunctions = Object.entries(roles).filter(([, { Properties }]) =>
      JSON.stringify(Properties.AssumeRolePolicyDocument).includes('lambda.amazonaws.com'),
    );
    expect(used.sort()).toEqual(ofFunctions.map(([id]) => id).sort());
  });
});

describe('a function', () => {
  const LIMITS = {
    prod: {
      issuer: 'gatehouse-prod',
      token: '3600',
      remembered: '86400',
      audit: '730',
      source: ['100', '1000', '100'],
    },
    dev: {
      issuer: 'gatehouse-dev',
      token: '3600',
      remembered: '86400',
      audit: '30',
      source: ['10000', '100000', '10000'],
    },
    other: {
      issuer: 'gatehouse-prod',
      token: '420',
      remembered: '1740',
      audit: '411',
      source: ['19', '23', '37'],
    },
  };
  const RESERVED = { prod: 100, dev: undefined, other: 17 };
  const CASES = (['prod', 'dev', 'other'] as const).flatMap((name) =>
    routes.map((row) => ({ name, row, route: row.route })),
  );
  const templates = { prod, dev, other };

  it.each(CASES)(
    'for $route in $name has its memory, timeout, concurrency and environment',
    ({ name, row }) => {
      const [logicalId, { Properties }] = functionOf(templates[name], row.route);
      const { issuer, token, remembered, audit, source } = LIMITS[name];
      const joined = (ids: string[]) => ({
        'Fn::Join': ['', [arnOf(String(ids[0])), ',', arnOf(String(ids[1]))]],
      });
      const has = (...uses: string[]) => row.permissions.keys?.some((use) => uses.includes(use));
      const hashes = has('pepper');

      expect(Properties.Environment.Variables).toEqual({
        METRICS_NAMESPACE: name === 'dev' ? 'Gatehouse/dev' : 'Gatehouse/prod',
        TOKEN_ISSUER: issuer,
        TOKEN_SECONDS: token,
        REMEMBERED_TOKEN_SECONDS: remembered,
        AUDIT_DAYS: audit,
        FAILURES_PER_SOURCE: source[0],
        REQUESTS_PER_SOURCE: source[1],
        RESETS_PER_SOURCE: source[2],
        ...(name === 'other' &&
          row.contract.access === 'public' && {
            CORS_ORIGINS: 'https://one.example,https://two.example',
            EDGE_HOST: OTHER_SETTINGS.edge.hostName,
          }),
        ...(name === 'other' && { EDGE_SECRET_HASHES: OTHER_SETTINGS.edge.secretHashes.join(',') }),
        ...(Object.keys(tableRights(row)).length > 0 && { TABLE_NAME: { Ref: 'Table' } }),
        ...(has('sign') && {
          SIGNING_KEYS:
            name === 'other' ? joined(['SigningKeyB', 'SigningKeyA']) : arnOf('SigningKey'),
        }),
        ...(has('pepper') && {
          PEPPER_KEYS: name === 'other' ? joined(['PepperKeyB', 'PepperKeyA']) : arnOf('PepperKey'),
        }),
        ...(has('seal', 'unseal') && { VALUES_KEY: arnOf('ValuesKey') }),
      });
      expect(Properties).toEqual({
        Description: row.route,
        Handler: 'index.handler',
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        MemorySize: hashes ? 1024 : 512,
        Timeout: 10,
        ...(row.strictThrottle &&
          RESERVED[name] && { ReservedConcurrentExecutions: RESERVED[name] }),
        Code: { S3Bucket: expect.anything(), S3Key: expect.stringMatching(/^[0-9a-f]{64}\.zip$/) },
        Environment: expect.anything(),
        LoggingConfig: expect.anything(),
        Role: expect.anything(),
        Tags: tags(name === 'dev' ? 'dev' : 'prod'),
      });
      expect(logicalId).toMatch(new RegExp(`^${row.handler.replaceAll('-', '')}[0-9A-F]{8}$`));
    },
  );

  it.each([
    ['cn-north-1', 'amazonaws.com.cn'],
    ['eusc-de-east-1', 'amazonaws.eu'],
    ['us-iso-east-1', 'c2s.ic.gov'],
  ])(
    'in %s calls AWS below %s, and may decrypt the table under this name of DynamoDB',
    (region, domain) => {
      const template = templateOf('dev', { region });
      const functions = Object.values(template.findResources('AWS::Lambda::Function'));
      const policies = JSON.stringify(template.findResources('AWS::IAM::Policy'));

      for (const { Properties } of functions)
        expect(Properties.Environment.Variables.ENDPOINT_DOMAIN).toBe(domain);
      expect(functions.length).toBeGreaterThan(20);
      expect(policies).toContain(
        `["dynamodb.${region}.amazonaws.com","dynamodb.${region}.${domain}"]`,
      );
    },
  );

  it('has its own bundle', () => {
    const code = Object.values(resourcesOf(prod, 'AWS::Lambda::Function')).map(
      ({ Properties }) => Properties.Code.S3Key,
    );

    expect(new Set(code).size).toBe(routes.length + 2);
  });

  it('is strictly throttled where callers without a token can cause expensive work or mail', () => {
    expect(routes.filter(({ strictThrottle }) => strictThrottle).map(({ route }) => route)).toEqual(
      [
        'POST /api/authenticate',
        'POST /api/account/reset-password/init',
        'POST /api/account/reset-password/finish',
      ],
    );
  });
});

describe('the function that sends mail', () => {
  const template = other;
  const [id, { Properties }] = functionOf(template, 'sends mail');
  const mappings = Object.values(resourcesOf(template, 'AWS::Lambda::EventSourceMapping'));

  it('is the only one with the settings of mail', () => {
    const { templates, ...mail } = OTHER_SETTINGS.mail;
    const functions = Object.values(resourcesOf(template, 'AWS::Lambda::Function'));
    const named = functions.filter((each) =>
      JSON.stringify(each.Properties.Environment).includes('MAIL_SENDER'),
    );

    expect(named).toHaveLength(1);
    expect(Properties.Environment.Variables).toEqual({
      METRICS_NAMESPACE: 'Gatehouse/prod',
      TABLE_NAME: { Ref: 'Table' },
      MAIL_SENDER: mail.sender,
      MAIL_LINK_BASE: mail.linkBase,
      MAIL_CONFIGURATION_SET: mail.configurationSet,
      MAIL_TEMPLATES: JSON.stringify(templates),
      RESETS_PER_HOUR: '37',
    });
  });

  it('receives new mails from the stream, which has keys only, and reports failures', () => {
    const [table] = Object.values(resourcesOf(template, 'AWS::DynamoDB::Table'));

    expect(table?.Properties.StreamSpecification).toEqual({ StreamViewType: 'KEYS_ONLY' });
    for (const { Properties } of mappings) {
      expect(Properties).toMatchObject({
        EventSourceArn: { 'Fn::GetAtt': ['Table', 'StreamArn'] },
        FunctionName: { Ref: id },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        BisectBatchOnFunctionError: true,
        StartingPosition: 'TRIM_HORIZON',
      });
    }
    // Resets have their own mapping, so that many of them do not delay the notices.
    expect(
      mappings.map(({ Properties }) => JSON.parse(Properties.FilterCriteria.Filters[0].Pattern)),
    ).toEqual(
      ['MAIL#', 'RESET-MAIL#'].map((prefix) => ({
        eventName: ['INSERT'],
        dynamodb: { Keys: { pk: { S: [{ prefix }] } } },
      })),
    );
  });
});

describe('the HTTP API', () => {
  const apiOf = (template: typeof prod) =>
    Object.entries(resourcesOf(template, 'AWS::ApiGatewayV2::Api'));

  it.each(['prod', 'dev'])('of %s allows no cross-origin requests', (name) => {
    expect(apiOf(templateOf(name)).map(([, { Properties }]) => Properties)).toEqual([
      { Name: `Gatehouse-${name}`, ProtocolType: 'HTTP', Tags: { 'gatehouse:environment': name } },
    ]);
  });

  it('allows requests from the configured origins, with the methods and headers of the API', () => {
    expect(apiOf(other).map(([, { Properties }]) => Properties)).toEqual([
      {
        Name: 'Gatehouse-prod',
        ProtocolType: 'HTTP',
        DisableExecuteApiEndpoint: true,
        Tags: { 'gatehouse:environment': 'prod' },
        CorsConfiguration: {
          AllowOrigins: ['https://one.example', 'https://two.example'],
          AllowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
          AllowHeaders: ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match'],
          ExposeHeaders: [
            'Authorization',
            'ETag',
            'Link',
            'Location',
            'Retry-After',
            'X-Total-Count',
            'X-gatehouseApp-alert',
            'X-gatehouseApp-error',
            'X-gatehouseApp-params',
          ],
          MaxAge: 7200,
        },
      },
    ]);
  });

  it('has the configured host name, with TLS 1.2 or later', () => {
    const [[apiId] = []] = apiOf(other);
    const [[domainId] = []] = Object.entries(resourcesOf(other, 'AWS::ApiGatewayV2::DomainName'));
    const [stageId] = Object.keys(resourcesOf(other, 'AWS::ApiGatewayV2::Stage'));
    const { name, certificate } = OTHER_SETTINGS.domain;

    expect(
      Object.values(resourcesOf(other, 'AWS::ApiGatewayV2::DomainName')).map((it) => it.Properties),
    ).toEqual([
      {
        DomainName: name,
        DomainNameConfigurations: [
          { CertificateArn: certificate, EndpointType: 'REGIONAL', SecurityPolicy: 'TLS_1_2' },
        ],
        Tags: { 'gatehouse:environment': 'prod' },
      },
    ]);
    expect(Object.values(resourcesOf(other, 'AWS::ApiGatewayV2::ApiMapping'))).toEqual([
      {
        Type: 'AWS::ApiGatewayV2::ApiMapping',
        Properties: { ApiId: { Ref: apiId }, DomainName: { Ref: domainId }, Stage: '$default' },
        // The stage is named, not referred to, so CloudFormation would not wait for it.
        DependsOn: expect.arrayContaining([stageId]),
      },
    ]);
    expect(other.toJSON().Outputs).toEqual({
      Url: { Value: `https://${OTHER_SETTINGS.edge.hostName}` },
      DomainTarget: { Value: { 'Fn::GetAtt': [domainId, 'RegionalDomainName'] } },
      TableName: { Value: { Ref: 'Table' } },
    });
  });

  it('without an edge is used under its own host name', () => {
    const { Outputs } = templateOf('prod', { domain: OTHER_SETTINGS.domain }).toJSON();

    expect(Outputs.Url).toEqual({ Value: `https://${OTHER_SETTINGS.domain.name}` });
  });

  it.each([
    { name: 'prod', template: prod, all: [500, 1000], login: [1000, 2000] },
    { name: 'dev', template: dev, all: [100, 200], login: [100, 200] },
    { name: 'other', template: other, all: [11, 12], login: [13, 14] },
  ])(
    'of $name has one stage, which throttles and logs requests',
    ({ name, template, all, login }) => {
      const [[apiId] = []] = apiOf(template);
      const stages = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Stage'));
      const [logGroup] = Object.keys(resourcesOf(template, 'AWS::Logs::LogGroup')).filter((id) =>
        id.includes('AccessLog'),
      );
      const strict = { ThrottlingRateLimit: login[0], ThrottlingBurstLimit: login[1] };

      const { Format, ...destination } = (stages[0] as Resource).Properties.AccessLogSettings;
      expect(stages.map(({ Properties }) => Properties)).toEqual([
        {
          ApiId: { Ref: apiId },
          StageName: '$default',
          AutoDeploy: true,
          DefaultRouteSettings: { ThrottlingRateLimit: all[0], ThrottlingBurstLimit: all[1] },
          RouteSettings: {
            'POST /api/authenticate': strict,
            'POST /api/account/reset-password/init': strict,
            'POST /api/account/reset-password/finish': strict,
          },
          AccessLogSettings: {
            DestinationArn: arnOf(String(logGroup)),
            Format: expect.any(String),
          },
          Tags: { 'gatehouse:environment': name === 'dev' ? 'dev' : 'prod' },
        },
      ]);
      expect(destination).toEqual({ DestinationArn: arnOf(String(logGroup)) });
      expect(JSON.parse(Format)).toEqual({
        requestId: '$context.requestId',
        time: '$context.requestTimeEpoch',
        sourceIp: '$context.identity.sourceIp',
        route: '$context.routeKey',
        status: '$context.status',
        milliseconds: '$context.responseLatency',
        integrationStatus: '$context.integrationStatus',
        integrationError: '$context.integrationErrorMessage',
        functionRequestId: '$context.awsEndpointRequestId',
      });
    },
  );

  it('creates its stage after its routes', () => {
    const [stage] = Object.values(resourcesOf(prod, 'AWS::ApiGatewayV2::Stage'));
    const ids = Object.keys(resourcesOf(prod, 'AWS::ApiGatewayV2::Route'));

    expect(ids.length).toBeGreaterThan(routes.length);
    expect(stage?.DependsOn).toEqual(expect.arrayContaining(ids));
  });

  it.each(routes)(
    'routes $route to the live version of its function, without an authorizer',
    ({ route }) => {
      const [functionId] = functionOf(prod, route);
      const aliases = Object.entries(resourcesOf(prod, 'AWS::Lambda::Alias')).filter(
        ([, { Properties }]) => Properties.FunctionName.Ref === functionId,
      );
      const [[aliasId] = []] = aliases;
      const routesOf = (routeKey: string) =>
        Object.values(resourcesOf(prod, 'AWS::ApiGatewayV2::Route')).filter(
          ({ Properties }) => Properties.RouteKey === routeKey,
        );
      const found = routesOf(route);
      const [resource] = found;
      const [, [, { Ref: integrationId }]] = (resource as Resource).Properties.Target['Fn::Join'];
      const [apiId] = Object.keys(resourcesOf(prod, 'AWS::ApiGatewayV2::Api'));
      const permissions = Object.values(resourcesOf(prod, 'AWS::Lambda::Permission')).filter(
        ({ Properties }) => Properties.FunctionName.Ref === aliasId,
      );

      expect(found).toHaveLength(1);
      for (const head of routesOf(route.replace('GET ', 'HEAD ')))
        expect(head.Properties).toEqual({
          ...resource?.Properties,
          RouteKey: head.Properties.RouteKey,
        });
      expect(aliases.map(([, { Properties }]) => Properties.Name)).toEqual(['live']);
      expect(resource?.Properties).toMatchObject({
        ApiId: { Ref: apiId },
        AuthorizationType: 'NONE',
      });
      expect(
        resourcesOf(prod, 'AWS::ApiGatewayV2::Integration')[integrationId]?.Properties,
      ).toEqual({
        ApiId: { Ref: apiId },
        IntegrationType: 'AWS_PROXY',
        IntegrationUri: { Ref: aliasId },
        PayloadFormatVersion: '2.0',
      });
      expect(
        permissions.map(({ Properties }) => [Properties.Action, Properties.Principal]),
      ).toEqual([['lambda:InvokeFunction', 'apigateway.amazonaws.com']]);
    },
  );
});

describe('the daily verification', () => {
  const [functionId, verification] = functionOf(other, 'verifies the table once a day');

  it('has memory and time for a large table, and only two variables', () => {
    expect(verification.Properties).toMatchObject({
      Description: 'verifies the table once a day',
      Handler: 'index.handler',
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      MemorySize: 2048,
      Timeout: 900,
    });
    expect(verification.Properties.Environment.Variables).toEqual({
      TABLE_NAME: { Ref: 'Table' },
      METRICS_NAMESPACE: 'Gatehouse/prod',
    });
    expect(verification.Properties).not.toHaveProperty('ReservedConcurrentExecutions');
  });

  it('is not retried', () => {
    expect(
      Object.values(resourcesOf(other, 'AWS::Lambda::EventInvokeConfig')).map(
        ({ Properties }) => Properties,
      ),
    ).toEqual([
      { FunctionName: { Ref: functionId }, MaximumRetryAttempts: 0, Qualifier: '$LATEST' },
    ]);
  });

  it('runs once a day', () => {
    const rules = Object.values(resourcesOf(other, 'AWS::Events::Rule')).map(
      ({ Properties }) => Properties,
    );

    expect(rules.filter((rule) => 'ScheduleExpression' in rule)).toEqual([
      {
        ScheduleExpression: 'rate(1 day)',
        State: 'ENABLED',
        Targets: [{ Arn: arnOf(functionId), Id: 'Target0' }],
        Tags: tags('prod'),
      },
    ]);
  });

  it('may only read the table, decrypt it via DynamoDB and write its log', () => {
    const [policy] = Object.entries(resourcesOf(other, 'AWS::IAM::Policy'))
      .filter(([id]) => id.startsWith('DailyVerification'))
      .map(([, { Properties }]) => Properties.PolicyDocument);

    expect(policy).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
          Resource: arnOf(verification.Properties.LoggingConfig.LogGroup.Ref),
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:Scan', 'dynamodb:Query', 'dynamodb:GetItem'],
          Resource: arnOf('Table'),
        },
        {
          Effect: 'Allow',
          Action: 'kms:Decrypt',
          Resource: arnOf('TableKey'),
          Condition: { StringEquals: { 'kms:ViaService': 'dynamodb.eu-north-1.amazonaws.com' } },
        },
      ],
    });
  });

  it('does not exist unless it is configured', () => {
    const types = ['AWS::Events::Rule', 'AWS::Lambda::EventInvokeConfig'];

    expect(types.map((type) => Object.keys(resourcesOf(dev, type)))).toEqual([[], []]);
    expect(Object.keys(resourcesOf(dev, 'AWS::Lambda::Function'))).toHaveLength(routes.length + 1);
  });
});

// After an intended change, update the file with `npx vitest run test/stack -u` and review the
// difference.
it('the production template matches the reviewed snapshot', async () => {
  const text = readableTemplate(prod.toJSON(), shippedSettings.mailTemplates);

  await expect(text).toMatchFileSnapshot('template-of-production.txt');
});
