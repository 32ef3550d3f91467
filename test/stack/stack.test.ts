import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { describe, expect, inject, it } from 'vitest';
import { readTemplate } from '../../infra/local/stack/template.ts';
import { readSettings } from '../../infra/settings/read-settings.ts';
import { type Settings, settings } from '../../infra/settings/settings.ts';
import { routes } from '../../routes.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { shippedContext } from '../support/stack/shipped-context.ts';
import { assemblyOf, templateOf as template } from '../support/stack/stack.ts';

/* Facts about the synthesized template of an environment, with the bundles of this run. */

// The daily verification has its own tests below, the canary those of
// test/stack/deployment.test.ts.
const prod = template('prod', { dailyVerification: false, deployment: 'all-at-once' });
const dev = template('dev');

describe('the table', () => {
  it('has on-demand capacity with maximum throughput and a customer managed key', () => {
    prod.hasResourceProperties('AWS::DynamoDB::Table', {
      BillingMode: 'PAY_PER_REQUEST',
      OnDemandThroughput: { MaxReadRequestUnits: 12_000, MaxWriteRequestUnits: 4000 },
      SSESpecification: {
        SSEEnabled: true,
        SSEType: 'KMS',
        KMSMasterKeyId: { 'Fn::GetAtt': ['TableKey', 'Arn'] },
      },
    });
  });

  it('is retained, protected and restorable to a point in time, except in dev', () => {
    prod.hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      },
    });
    dev.hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Delete',
      Properties: { DeletionProtectionEnabled: false },
    });
  });
});

it('resources that hold data keep their logical ids, because a new id would replace them', () => {
  const ids = (type: string) => Object.keys(prod.findResources(type)).sort();

  expect(ids('AWS::DynamoDB::Table')).toEqual(['Table']);
  expect(ids('AWS::KMS::Key')).toEqual(['PepperKey', 'SigningKey', 'TableKey', 'ValuesKey']);
});

describe('during the rotation of the signing key', () => {
  const SIGNERS = ['SigningKey2', 'SigningKey'].map((key) => ({ 'Fn::GetAtt': [key, 'Arn'] }));
  const both = template('prod', { signingKeys: ['SigningKey2', 'SigningKey'] });

  it('both keys exist under their own logical ids, and all other keys keep theirs', () => {
    const keys = Object.keys(both.findResources('AWS::KMS::Key')).sort();

    expect(keys).toEqual(['PepperKey', 'SigningKey', 'SigningKey2', 'TableKey', 'ValuesKey']);
  });

  it('only the login has both keys, in order, and the permission to use them', () => {
    const users = Object.values(both.findResources('AWS::Lambda::Function')).filter(
      ({ Properties }) => 'SIGNING_KEYS' in Properties.Environment.Variables,
    );
    const statements = Object.values(both.findResources('AWS::IAM::Policy')).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement as Statement[],
    );

    expect(users.map(({ Properties }) => Properties.Description)).toEqual([
      'POST /api/authenticate',
    ]);
    expect(users[0]?.Properties.Environment.Variables.SIGNING_KEYS).toEqual({
      'Fn::Join': ['', [SIGNERS[0], ',', SIGNERS[1]]],
    });
    expect(statements.filter(({ Action }) => [Action].flat().includes('kms:Sign'))).toEqual([
      { Action: ['kms:Sign', 'kms:GetPublicKey'], Effect: 'Allow', Resource: SIGNERS },
    ]);
  });
});

describe('every route of the API', () => {
  it('has its own route, function and role, and every GET a route for HEAD', () => {
    const keys = Object.values(prod.findResources('AWS::ApiGatewayV2::Route')).map(
      ({ Properties }) => Properties.RouteKey,
    );

    const heads = routes.flatMap(({ route }) =>
      route.startsWith('GET ') ? [route.replace('GET', 'HEAD')] : [],
    );
    expect(keys.sort()).toEqual([...routes.map(({ route }) => route), ...heads].sort());
    // One function sends mail.
    prod.resourceCountIs('AWS::Lambda::Function', routes.length + 1);
    prod.resourceCountIs('AWS::IAM::Role', routes.length + 1);
  });

  it('has a function on arm64 and Node 24 with limits, and a log with retention', () => {
    prod.allResourcesProperties('AWS::Lambda::Function', {
      Architectures: ['arm64'],
      Runtime: 'nodejs24.x',
      MemorySize: Match.anyValue(),
      Timeout: Match.anyValue(),
      LoggingConfig: { LogGroup: Match.anyValue() },
    });
    prod.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 365 });
  });
});

interface Statement {
  Action: string | string[];
  Effect: string;
  Resource: unknown;
  Condition?: Record<string, Record<string, unknown>>;
}

/** The IAM statements of the function that serves a route. */
function statementsOf(route: string): Statement[] {
  const functions = Object.values(prod.findResources('AWS::Lambda::Function'));
  const role = functions.find(({ Properties }) => Properties.Description === route)?.Properties
    .Role['Fn::GetAtt'][0];
  return Object.values(prod.findResources('AWS::IAM::Policy'))
    .filter(({ Properties }) => Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === role))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
}

const isOf = (logicalId: string, resource: unknown): boolean =>
  JSON.stringify(resource) === JSON.stringify({ 'Fn::GetAtt': [logicalId, 'Arn'] });

const ONLY_IN_TRANSACTIONS = {
  'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
};

/** Maps each DynamoDB action to the partition keys that it is allowed on. */
function tableRights(route: string): Record<string, unknown> {
  const statements = statementsOf(route).filter(({ Action }) =>
    String(Action).startsWith('dynamodb:'),
  );
  return Object.fromEntries(
    statements.map(({ Action, Condition }) => [
      // An update that is allowed outside of transactions too is a separate permission.
      Condition?.['ForAnyValue:StringEquals'] || !/Update/.test(String(Action))
        ? Action
        : `${Action}, alone`,
      Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'],
    ]),
  );
}

describe('the permissions of a function', () => {
  it('are exactly those of its route', () => {
    expect(tableRights('DELETE /api/users/{login}')).toEqual({
      'dynamodb:GetItem': ['LOGIN#*', 'USER', 'PRECEDENCE#*'],
      'dynamodb:PutItem': ['AUDIT#*', 'PRECEDENCE#*'],
      'dynamodb:UpdateItem': ['ADMINS', 'TOTAL'],
      'dynamodb:DeleteItem': ['USER', 'LOGIN#*', 'EMAIL#*', 'PRECEDENCE#*'],
      'dynamodb:ConditionCheckItem': ['USER'],
      'dynamodb:Query': ['JWKS'],
    });
    expect(tableRights('POST /api/account/change-password')).toEqual({
      'dynamodb:GetItem': ['USER', 'PRECEDENCE#*'],
      'dynamodb:BatchGetItem': ['ATTEMPTS#*'],
      'dynamodb:PutItem': ['ATTEMPTS#*', 'MAIL#*', 'AUDIT#*'],
      'dynamodb:UpdateItem': ['USER'],
      'dynamodb:UpdateItem, alone': ['ATTEMPTS#*'],
      'dynamodb:Query': ['JWKS'],
    });
    expect(tableRights('GET /api/health')).toEqual({ 'dynamodb:GetItem': ['ADMINS'] });
  });

  it.each(routes.map(({ route }) => route))(
    'contain no wildcard and no scan, and are limited to partition keys and to the table ' +
      'key via DynamoDB: %s',
    (route) => {
      for (const { Action, Resource, Condition } of statementsOf(route)) {
        for (const action of [Action].flat()) {
          expect(action).not.toContain('*');
          expect(action).not.toMatch(/Scan|Table$/);
          if (action.startsWith('dynamodb:')) {
            expect(Resource).toEqual({ 'Fn::GetAtt': ['Table', 'Arn'] });
            expect(Condition?.Null).toEqual({ 'dynamodb:LeadingKeys': 'false' });
            if (/Put|Delete/.test(action)) expect(Condition).toMatchObject(ONLY_IN_TRANSACTIONS);
          }
        }
        expect(Resource).not.toBe('*');
      }
      const touchesTheTable = Object.keys(tableRights(route)).length > 0;
      expect(statementsOf(route).filter(({ Resource }) => isOf('TableKey', Resource))).toEqual(
        [touchesTheTable].filter(Boolean).map(() => ({
          Effect: 'Allow',
          Action: 'kms:Decrypt',
          Resource: { 'Fn::GetAtt': ['TableKey', 'Arn'] },
          Condition: { StringEquals: { 'kms:ViaService': 'dynamodb.eu-central-1.amazonaws.com' } },
        })),
      );
    },
  );

  it('allow updates only in transactions, except for sequences', () => {
    const updates = statementsOf('POST /api/users').filter(
      ({ Action }) => Action === 'dynamodb:UpdateItem',
    );

    expect(updates).toHaveLength(2);
    for (const { Condition } of updates) {
      const [key] =
        (Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] as string[]) ?? [];
      if (key === 'SEQUENCE') expect(Condition).not.toMatchObject(ONLY_IN_TRANSACTIONS);
      else expect(Condition).toMatchObject(ONLY_IN_TRANSACTIONS);
    }
  });

  it('allow a values key only in its encryption context, and mail only from the sender', () => {
    const conditionOf = (route: string, action: string, key?: string) =>
      statementsOf(route).find(
        ({ Action, Resource }) => Action === action && (!key || isOf(key, Resource)),
      )?.Condition;
    const context = {
      StringEquals: { 'kms:EncryptionContext:service': 'gatehouse' },
      Null: { 'kms:EncryptionContext:integration': 'false' },
    };

    expect(conditionOf('POST /api/utm-integration-confs', 'kms:GenerateDataKey')).toEqual(context);
    expect(conditionOf('GET /api/utm-integration-confs', 'kms:Decrypt', 'ValuesKey')).toEqual(
      context,
    );
    expect(conditionOf('sends mail', 'ses:SendEmail')).toEqual({
      StringEquals: { 'ses:FromAddress': 'gatehouse@example.com' },
    });
  });

  it('allow signing only for the login, and no decryption for writers of secrets', () => {
    const holders = (action: string, key: string) =>
      routes
        .map(({ route }) => route)
        .filter((route) =>
          statementsOf(route).some(
            ({ Action, Resource }) => [Action].flat().includes(action) && isOf(key, Resource),
          ),
        );

    expect(holders('kms:Sign', 'SigningKey')).toEqual(['POST /api/authenticate']);
    expect(holders('kms:GenerateMac', 'PepperKey')).toEqual([
      'POST /api/authenticate',
      'POST /api/account/change-password',
      'POST /api/account/reset-password/init',
      'POST /api/account/reset-password/finish',
      'POST /api/users',
    ]);
    expect(holders('kms:GenerateDataKey', 'ValuesKey')).toEqual([
      'POST /api/utm-integration-confs',
      'PUT /api/utm-integration-confs',
    ]);
    expect(holders('kms:Decrypt', 'ValuesKey')).toEqual([
      'GET /api/utm-integration-confs',
      'GET /api/utm-integration-confs/{id}',
    ]);
  });
});

it('the stage throttles all routes, limits login and reset apart, and logs addresses', () => {
  prod.hasResource('AWS::ApiGatewayV2::Stage', {
    Properties: {
      DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 },
      RouteSettings: {
        'POST /api/authenticate': { ThrottlingRateLimit: 1000, ThrottlingBurstLimit: 2000 },
        'POST /api/account/reset-password/init': {
          ThrottlingRateLimit: 1000,
          ThrottlingBurstLimit: 2000,
        },
        'POST /api/account/reset-password/finish': {
          ThrottlingRateLimit: 1000,
          ThrottlingBurstLimit: 2000,
        },
      },
      AccessLogSettings: {
        DestinationArn: Match.anyValue(),
        Format: Match.stringLikeRegexp('sourceIp'),
      },
    },
    // Route settings can only name routes that exist already.
    DependsOn: Match.arrayWith([Match.stringLikeRegexp('Entranceauthenticate')]),
  });
});

it.each([
  'POST /api/authenticate',
  'POST /api/account/reset-password/init',
  'POST /api/account/reset-password/finish',
])(
  '%s allows 100 failures, 1,000 requests and 100 resets per source, and 100 concurrent executions',
  (Description) => {
    const limits = (failures: string, requests: string, resets: string) => ({
      Description,
      Environment: {
        Variables: Match.objectLike({
          FAILURES_PER_SOURCE: failures,
          REQUESTS_PER_SOURCE: requests,
          RESETS_PER_SOURCE: resets,
        }),
      },
    });

    prod.hasResourceProperties('AWS::Lambda::Function', {
      ...limits('100', '1000', '100'),
      ReservedConcurrentExecutions: 100,
    });
    dev.hasResourceProperties('AWS::Lambda::Function', {
      ...limits('10000', '100000', '10000'),
      ReservedConcurrentExecutions: Match.absent(),
    });
  },
);

it('reserves concurrency for no function that requires a token', () => {
  const reserved = Object.values(prod.findResources('AWS::Lambda::Function'))
    .filter(({ Properties }) => Properties.ReservedConcurrentExecutions !== undefined)
    .map(({ Properties }) => Properties.Description);

  expect(reserved).toHaveLength(3);
});

it('the environment of every function stays below 4 KB with the largest settings', () => {
  const inLongestRegion = JSON.stringify({ ...OTHER_SETTINGS, keepData: true })
    .replaceAll('arn:aws:', 'arn:aws-iso-f:')
    .replaceAll(OTHER_SETTINGS.region, 'us-isof-south-1');
  const pepperKeys = ['PepperKey', 'PepperKey2', 'PepperKey3'];
  const key =
    'arn:aws-iso-f:kms:us-isof-south-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab';
  const keys = Object.fromEntries(pepperKeys.map((id) => [id, key]));
  const others = {
    ...JSON.parse(inLongestRegion),
    pepperKeys,
    existing: {
      table: 't'.repeat(255),
      tableStream: `arn:aws:dynamodb:us-isof-south-1:123456789012:table/${'t'.repeat(255)}/stream/1`,
      keys,
    },
    tokenLife: { minutes: 525_600, rememberedMinutes: 525_600 },
    guessing: {
      failuresPerSource: 1_000_000,
      requestsPerSource: 1_000_000,
      resetsPerSource: 1_000_000,
    },
  };
  const withMail = (length: number): Settings => {
    const { templates, ...mail } = OTHER_SETTINGS.mail;
    // Each line feed is escaped twice: in the JSON text of the templates, and in that of the
    // environment.
    const text = `{link}${'\n'.repeat(length)}`;
    const reset = { ...templates.en.reset, text };
    return { ...others, mail: { ...mail, templates: { en: { ...templates.en, reset } } } };
  };
  let length = 4096;
  while (!v.is(settings, withMail(length))) length--;

  const sizes = Object.values(
    template('prod', withMail(length)).findResources('AWS::Lambda::Function'),
  ).map(
    ({ Properties: { Environment } }) =>
      JSON.stringify(Environment.Variables)
        // The name of a stack has 128 characters at most, and is longer than these.
        .replaceAll(/gatehouse[-/]prod/gi, 'x'.repeat(128))
        .replaceAll(/\{"(Ref|Fn::GetAtt)":[^}]*\}/g, JSON.stringify(key)).length,
  );

  expect(Math.max(...sizes)).toBeGreaterThan(3900);
  expect(Math.max(...sizes)).toBeLessThan(4096);
});

describe('the configuration set for mail', () => {
  const mailWith = (configurationSet: string) =>
    readSettings(
      new App({
        outdir: join(inject('assembly'), '../settings'),
        context: {
          ...shippedContext,
          env: 'prod',
          allowPlaceholders: 'true',
          environments: {
            prod: {
              ...shippedContext.environments.prod,
              mail: { ...shippedContext.environments.prod.mail, configurationSet },
            },
          },
        },
      }).node,
    ).settings.mail;

  it('is in the environment of the function that sends mail, if the settings have one', () => {
    const withOne = template('prod', { mail: mailWith('gatehouse_mail-1') });
    const named = Object.values(withOne.findResources('AWS::Lambda::Function'))
      .filter(
        ({ Properties }) =>
          Properties.Environment.Variables.MAIL_CONFIGURATION_SET === 'gatehouse_mail-1',
      )
      .map(({ Properties }) => Properties.Description);

    expect(named).toEqual(['sends mail']);
    expect(JSON.stringify(prod.toJSON())).not.toMatch(/CONFIGURATION_SET|configuration-set/);
  });

  it('is allowed for that function when it sends from the sender', () => {
    const withOne = template('prod', { mail: mailWith('gatehouse_mail-1') });
    const statements = Object.values(withOne.findResources('AWS::IAM::Policy'))
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[])
      .filter(({ Action }) => Action === 'ses:SendEmail');

    expect(statements).toHaveLength(1);
    for (const { Resource, Condition } of statements) {
      const names = [Resource].flat().map((arn) =>
        JSON.stringify(arn)
          .split(':')
          .at(-1)
          ?.replace(/"\]*}$/, ''),
      );
      expect(names).toEqual([
        'identity/gatehouse@example.com',
        'identity/example.com',
        'configuration-set/gatehouse_mail-1',
      ]);
      expect(Condition).toEqual({ StringEquals: { 'ses:FromAddress': 'gatehouse@example.com' } });
    }
  });

  it.each(['', 'with space', 'all/*', 'x'.repeat(65)])('cannot be named %j', (name) => {
    expect(() => mailWith(name)).toThrow(
      /settings of prod in cdk.json are invalid.*mail.configurationSet/s,
    );
  });
});

describe('the daily verification', () => {
  const verified = template('prod');

  it('is off by default, with no permission to scan and no schedule', () => {
    expect(JSON.stringify(dev.toJSON())).not.toContain('dynamodb:Scan');
    dev.resourceCountIs('AWS::Events::Rule', 0);
  });

  it('runs once a day without retries, with the longest timeout that Lambda allows', () => {
    verified.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(1 day)',
      Targets: [
        { Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^DailyVerificationFunction'), 'Arn'] } },
      ],
    });
    verified.hasResourceProperties('AWS::Lambda::Function', {
      Description: 'verifies the table once a day',
      Timeout: 900,
      Environment: { Variables: { TABLE_NAME: { Ref: 'Table' } } },
    });
    verified.hasResourceProperties('AWS::Lambda::EventInvokeConfig', { MaximumRetryAttempts: 0 });
  });

  it('has the permission to read the table and no other', () => {
    const [policy, ...others] = Object.entries(verified.findResources('AWS::IAM::Policy'))
      .filter(([id]) => id.startsWith('DailyVerification'))
      .map(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[]);

    expect(others).toEqual([]);
    expect(policy?.map(({ Action }) => Action)).toEqual([
      ['logs:CreateLogStream', 'logs:PutLogEvents'],
      ['dynamodb:Scan', 'dynamodb:Query', 'dynamodb:GetItem'],
      'kms:Decrypt',
    ]);
    expect(policy?.[1]?.Resource).toEqual({ 'Fn::GetAtt': ['Table', 'Arn'] });
    expect(policy?.[2]?.Condition).toEqual({
      StringEquals: { 'kms:ViaService': 'dynamodb.eu-central-1.amazonaws.com' },
    });
  });

  it('is in a template that the local cloud can read', () => {
    expect(readTemplate(assemblyOf('prod', {})).ofType('AWS::Events::Rule')).toHaveLength(2);
  });
});
