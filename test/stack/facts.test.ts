import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { readTemplate } from '../../infra/local/stack/template.ts';
import { type Settings, settings } from '../../infra/settings/settings.ts';
import { consoleRoutes, deployedRow, permissionsOf, routes } from '../../routes.ts';
import { FETCHER } from '../support/instance/launch.ts';
import { inventoryOf, readableParts, statementText } from '../support/stack/inventory.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import {
  assemblyOf,
  backupTemplateOf,
  edgeTemplateOf,
  propertiesOf,
  type Resource,
  resourcesOf,
  synthesizeInProcess,
  templateOf,
} from '../support/stack/stack.ts';

/*
 * The facts of the templates that durability or security depends on. Two text files at the end list
 * all resources, names and policies for review.
 */

const prod = templateOf('prod');
const dev = templateOf('dev');
const other = templateOf('prod', OTHER_SETTINGS);

const ENVIRONMENTS = [
  { name: 'prod', template: prod, keep: true, days: 365 },
  { name: 'dev', template: dev, keep: false, days: 7 },
  { name: 'other', template: other, keep: false, days: 90 },
];

/** One row for each function: the rows of the console share one. */
const routeRows = [...routes, ...consoleRoutes.slice(0, 1)].map((row) =>
  deployedRow(row, { issuers: true, moduleIssuers: true }),
);

const API = 'AWS::ApiGatewayV2::Api';
const MAPPING = 'AWS::Lambda::EventSourceMapping';
const arnOf = (logicalId: string) => ({ 'Fn::GetAtt': [logicalId, 'Arn'] });
const functionsOf = (template: typeof prod) => propertiesOf(template, 'AWS::Lambda::Function');

/** The function of a route, by its description. */
const functionOf = (template: typeof prod, description: string) =>
  functionsOf(template).find(({ Description }) => Description === description) ?? {};

/** The policy statements of a function, whose role has one policy, in itself or attached. */
function statementsOf(template: typeof prod, { Role }: Resource['Properties']) {
  const [role] = Role['Fn::GetAtt'];
  const { Policies = [] } = resourcesOf(template, 'AWS::IAM::Role')[role]?.Properties ?? {};
  const attached = propertiesOf(template, 'AWS::IAM::Policy').filter(({ Roles }) =>
    Roles.some(({ Ref }: { Ref: string }) => Ref === role),
  );
  const [policy, ...others] = [...Policies, ...attached];
  expect(others).toEqual([]);
  // biome-ignore lint/suspicious/noExplicitAny: statements differ by action
  return policy?.PolicyDocument.Statement as any[];
}

describe.each(ENVIRONMENTS)('the data of $name', ({ template, keep, days }) => {
  const policies = keep
    ? { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' }
    : { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' };

  it('is in one table, which is encrypted, and protected and restorable if it is kept', () => {
    expect(resourcesOf(template, 'AWS::DynamoDB::Table')).toMatchObject({
      Table: {
        ...policies,
        Properties: {
          DeletionProtectionEnabled: keep,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: keep },
          // The function that reads the stream sees no secrets.
          StreamSpecification: { StreamViewType: 'KEYS_ONLY' },
          SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: arnOf('TableKey') },
        },
      },
    });
  });

  it('is protected by keys with fixed logical ids, because a new id would replace a key', () => {
    const keys = Object.entries(resourcesOf(template, 'AWS::KMS::Key')).map(
      ([
        id,
        {
          Properties: { KeySpec, KeyUsage, EnableKeyRotation, MultiRegion },
        },
      ]) => [id, [KeySpec, KeyUsage, EnableKeyRotation, MultiRegion ?? false].join()],
    );
    const ids = template === other ? ['KeyB', 'KeyA'] : ['Key'];

    expect(Object.fromEntries(keys)).toEqual({
      TableKey: 'SYMMETRIC_DEFAULT,ENCRYPT_DECRYPT,true,false',
      ValuesKey: 'SYMMETRIC_DEFAULT,ENCRYPT_DECRYPT,true,true',
      FactorKey: 'HMAC_256,GENERATE_VERIFY_MAC,false,true',
      ...Object.fromEntries(
        ids.flatMap((id) => [
          [`Pepper${id}`, 'HMAC_256,GENERATE_VERIFY_MAC,false,true'],
          [`Signing${id}`, 'ECC_NIST_P256,SIGN_VERIFY,false,false'],
          [`Module${id}`, 'ECC_NIST_P256,SIGN_VERIFY,false,false'],
        ]),
      ),
    });
  });

  it('is retained or deleted as a whole, logs included', () => {
    const { Resources } = template.toJSON() as { Resources: Record<string, Resource> };
    const removals = Object.values(Resources).flatMap(({ DeletionPolicy, UpdateReplacePolicy }) =>
      DeletionPolicy || UpdateReplacePolicy ? [{ DeletionPolicy, UpdateReplacePolicy }] : [],
    );
    const groups = propertiesOf(template, 'AWS::Logs::LogGroup');

    for (const removal of removals) expect(removal).toEqual(policies);
    const others = ['AWS::DynamoDB::Table', 'AWS::KMS::Key', 'AWS::Backup::BackupVault'].flatMap(
      (type) => propertiesOf(template, type),
    );
    expect(removals).toHaveLength(groups.length + others.length);
    // One for all endpoints and the console, one for each other function, and one for the HTTP API.
    expect(groups).toHaveLength(functionsOf(template).length - routes.length + 1);
    const auditDays = template === other ? OTHER_SETTINGS.auditLogDays : days;
    const daysOf = (name: string) => (name.endsWith('/audit') ? auditDays : days);
    expect(
      groups.filter(
        ({ LogGroupName, RetentionInDays }) => RetentionInDays !== daysOf(LogGroupName),
      ),
    ).toEqual([]);
  });
});

it.each<[string, Partial<Settings>, boolean, string]>([
  ['prod', {}, true, 'eu-central-1'],
  ['prod', { unprotected: true }, false, 'eu-central-1'],
  ['dev', {}, false, 'eu-central-1'],
  ['prod', OTHER_SETTINGS, false, 'eu-north-1'],
])(
  'the stack of %s with %j has termination protection: %j',
  (name, changes, isProtected, region) => {
    const [table] = propertiesOf(templateOf(name, changes), 'AWS::DynamoDB::Table');
    const { artifacts } = JSON.parse(
      readFileSync(join(assemblyOf(name, changes), 'manifest.json'), 'utf8'),
    );
    const { environment, properties } = artifacts[`Gatehouse-${name}`];

    expect(environment).toBe(`aws://${changes.account ?? 'unknown-account'}/${region}`);
    expect(properties.terminationProtection).toBe(isProtected);
    // None depends on the release: each would update every resource.
    expect(properties.tags).toEqual({ 'gatehouse:environment': name });
    expect(table?.DeletionProtectionEnabled).toBe(isProtected);
    expect(readTemplate(assemblyOf(name, changes)).stack).toBe(`Gatehouse-${name}`);
  },
);

describe('a stack with an existing table and existing keys', () => {
  const keys = Object.fromEntries(
    ['TableKey', 'ValuesKey', 'PepperKey', 'FactorKey', 'SigningKey', 'ModuleKey'].map((id) => [
      id,
      `arn:aws:kms:eu-central-1:123456789012:key/${id}`,
    ]),
  );
  /** The lines of a template in any order, without the hashes in logical ids. */
  const linesOf = (template: typeof prod, except: readonly string[] = []) => {
    const { Outputs, Resources } = template.toJSON();
    const some = Object.entries(Resources).filter(([id]) => !except.includes(id));
    const parts = { Outputs, Resources: Object.fromEntries(some) };
    return JSON.stringify(readableParts(parts), null, 1)
      .replaceAll(/(role(?:DefaultPolicy)?[0-9A-F]{8})[0-9a-f]{8}/g, '$1')
      .replaceAll(/(CurrentVersion[0-9A-F]{8})[0-9a-f]{8}/g, '$1')
      .split(/,?\n/)
      .sort();
  };

  const textOf = (reference: string) => `\${${reference}}`;
  const STREAM =
    'arn:aws:dynamodb:eu-central-1:123456789012:table/Restored/stream/2030-01-01T00:00:00.000';

  it('creates neither, and uses their name and ARNs in place of its own', () => {
    const adopting = templateOf('prod', {
      existing: { tableStream: STREAM, keys },
    });
    const replaced: [from: string, to: string][] = [
      [textOf('Table.StreamArn'), STREAM],
      [
        textOf('Table.Arn'),
        `arn:${textOf('AWS::Partition')}:dynamodb:eu-central-1:${textOf('AWS::AccountId')}:table/Restored`,
      ],
      [textOf('Table'), 'Restored'],
      ...Object.entries(keys).flatMap(([id, arn]): [string, string][] => [
        [textOf(`${id}.Arn`), arn],
        [textOf(id), id],
      ]),
    ];

    const expected = linesOf(prod, ['Table', ...Object.keys(keys)])
      .map((line) => replaced.reduce((text, [from, to]) => text.replaceAll(from, to), line))
      .sort();

    expect(linesOf(adopting)).toEqual(expected);
  });

  it('names the command that sets tableMaximum, which it cannot set itself', () => {
    const stack = synthesizeInProcess('prod', {
      existing: { tableStream: STREAM },
    });
    const infos = Annotations.fromStack(stack).findInfo(
      '*',
      Match.stringLikeRegexp('tableMaximum'),
    );

    expect(infos.map(({ entry }) => entry.data)).toEqual([
      expect.stringMatching(/update-table --table-name Restored .* MaxReadRequestUnits=12000,/),
    ]);
  });

  it('creates the keys that it does not adopt, and protects the table with them as before', () => {
    const adopting = templateOf('prod', {
      existing: { keys: { PepperKey: keys.PepperKey as string } },
    });
    const [table] = propertiesOf(adopting, 'AWS::DynamoDB::Table');

    expect(Object.keys(resourcesOf(adopting, 'AWS::KMS::Key')).sort()).toEqual([
      'FactorKey',
      'ModuleKey',
      'SigningKey',
      'TableKey',
      'ValuesKey',
    ]);
    expect(table?.SSESpecification.KMSMasterKeyId).toEqual(arnOf('TableKey'));
    expect(table?.Tags).toContainEqual({ Key: 'gatehouse:pepper-key', Value: keys.PepperKey });
  });
});

describe('the function', () => {
  it('of a route may change only the partitions of its row outside of transactions', () => {
    const alone = routeRows.map((row) => [
      row.route,
      statementsOf(other, functionOf(other, row.route)).flatMap(({ Action, Condition }) =>
        Action === 'dynamodb:UpdateItem' && !Condition['ForAnyValue:StringEquals']
          ? Condition['ForAllValues:StringLike']['dynamodb:LeadingKeys']
          : [],
      ),
      functionOf(other, row.route).ReservedConcurrentExecutions,
    ]);

    expect(alone).toEqual(
      routeRows.map((row) => [
        row.route,
        (permissionsOf(row).updateOutsideTransaction ?? []).map((key) => key.replace(/#$/, '#*')),
        row.strictThrottle ? 17 : undefined,
      ]),
    );
  });

  it('that reserves executions gets them back by the steps of docs/restore.md', () => {
    const document = readFileSync(join(import.meta.dirname, '../../docs/restore.md'), 'utf8');
    const prefixes = [...document.matchAll(/starts_with\(LogicalResourceId, '(\w+)'\)/g)].map(
      ([, prefix = '']) => prefix,
    );
    const functions = Object.entries(resourcesOf(prod, 'AWS::Lambda::Function'));
    const reserving = functions.filter(
      ([, { Properties }]) => Properties.ReservedConcurrentExecutions !== undefined,
    );
    const named = functions.filter(([id]) => prefixes.some((prefix) => id.startsWith(prefix)));
    const idsOf = (found: typeof functions) => found.map(([id]) => id);

    expect(reserving).toHaveLength(4);
    expect(idsOf(named)).toEqual(idsOf(reserving));
  });

  it('of a route has the settings in its environment, wherever it has the variable', () => {
    const joined = (one: string, two: string) => ({
      'Fn::Join': ['', [arnOf(one), ',', arnOf(two)]],
    });
    const textOf = ([name, value]: [string, unknown]) => `${name}=${JSON.stringify(value)}`;
    const found = routeRows.flatMap(({ route }) =>
      Object.entries(functionOf(other, route).Environment.Variables).map(textOf),
    );

    expect([...new Set(found)].sort()).toEqual(
      Object.entries({
        METRICS_NAMESPACE: 'Gatehouse/prod',
        TOKEN_ISSUER: 'gatehouse-prod',
        TOKEN_SECONDS: '420',
        REMEMBERED_TOKEN_SECONDS: '1740',
        AUDIT_DAYS: '411',
        DELETION_ENDS_SESSIONS: 'true',
        CONFIRM_EMAIL_CHANGES: 'true',
        PASSWORD_MINIMUM: '15',
        REJECT_COMMON_PASSWORDS: 'true',
        API_TOKEN_DAYS_MAX: '83',
        API_TOKENS_MAX: '7',
        FAILURES_PER_SOURCE: '19',
        EDGE_SECRET_HASHES: OTHER_SETTINGS.edge.secretHashes.join(','),
        CORS_ORIGINS: 'https://one.example,https://two.example',
        EDGE_HOST: OTHER_SETTINGS.edge.hostName,
        ISSUERS: JSON.stringify(OTHER_SETTINGS.issuers),
        MODULE_ISSUERS: JSON.stringify(OTHER_SETTINGS.moduleIssuers),
        TABLE_NAME: { Ref: 'Table' },
        SIGNING_KEYS: joined('SigningKeyB', 'SigningKeyA'),
        MODULE_KEYS: joined('ModuleKeyB', 'ModuleKeyA'),
        PEPPER_KEYS: joined('PepperKeyB', 'PepperKeyA'),
        FACTOR_KEY: arnOf('FactorKey'),
        EMERGENCY_ACCOUNT: 'break-glass',
        SSO_ONLY: 'true',
        FACTOR_REQUIRED_FOR: 'ROLE_ADMIN,ROLE_ANALYST',
        FACTOR_REQUIRED_FROM: '2031-02-03',
        VALUES_KEY: arnOf('ValuesKey'),
      })
        .map(textOf)
        .sort(),
    );
  });

  it('is handed mails and uses of tokens; if settings say so, armings and audit entries', () => {
    const handedTo = (template: typeof prod) =>
      Object.entries(resourcesOf(template, MAPPING)).map(([id, { Properties }]) => [
        id,
        ...Properties.FilterCriteria.Filters.map(({ Pattern }: { Pattern: string }) => {
          const { eventName, dynamodb } = JSON.parse(Pattern);
          return `${eventName} ${dynamodb.Keys.pk.S[0].prefix}`;
        }),
      ]);
    // AWS rejects a second mapping of the same stream and function, also under another logical id.
    const mails = ['MailFunctionStream484E06B9', 'INSERT MAIL#', 'INSERT RESET-MAIL#'];
    const [log, uses] = ['AuditLogFunctionStream111D84A8', 'INSERT TOKEN-USE#'];

    expect(handedTo(dev)).toEqual([mails, [log, uses]]);
    expect(handedTo(other)).toEqual([
      mails,
      [log, 'INSERT AUDIT#', uses, 'INSERT,MODIFY EMERGENCY'],
    ]);
    expect(propertiesOf(other, MAPPING)).toMatchObject([
      {
        BatchSize: 10,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        BisectBatchOnFunctionError: true,
        StartingPosition: 'TRIM_HORIZON',
      },
      // As many as can be read at once, in their order, for a day.
      { BatchSize: 100, ParallelizationFactor: 1, MaximumRecordAgeInSeconds: 86_400 },
    ]);
  });

  it('in another partition calls AWS below its domain, and decrypts the table under both', () => {
    const template = templateOf('dev', { region: 'cn-north-1' });
    const policies = JSON.stringify(template.findResources('AWS::IAM::Role'));

    for (const { Environment } of functionsOf(template))
      expect(Environment.Variables.ENDPOINT_DOMAIN).toBe('amazonaws.com.cn');
    expect(policies).toContain(
      '["dynamodb.cn-north-1.amazonaws.com","dynamodb.cn-north-1.amazonaws.com.cn"]',
    );
  });

  it('has an environment of less than 4 KB with the largest settings', () => {
    const { unprotected: _, ...all } = OTHER_SETTINGS;
    const inLongestRegion = JSON.stringify({ ...all, keepData: true }).replaceAll(
      all.region,
      'ap-southeast-1',
    );
    const pepperKeys = ['PepperKey', 'PepperKey2', 'PepperKey3'];
    const key = 'arn:aws:kms:ap-southeast-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab';
    const others = {
      ...JSON.parse(inLongestRegion),
      // No function has it.
      backup: undefined,
      pepperKeys,
      edge: {
        ...OTHER_SETTINGS.edge,
        hostName: `${Array(4).fill('x'.repeat(60)).join('.')}.example`,
      },
      existing: {
        tableStream: `arn:aws:dynamodb:ap-southeast-1:123456789012:table/${'t'.repeat(255)}/stream/1`,
        keys: Object.fromEntries(pepperKeys.map((id) => [id, key])),
      },
      tokenLife: { minutes: 1440, rememberedMinutes: 43_200 },
      failuresPerSource: 1_000_000,
    };
    const withOrigin = (length: number): Settings => ({
      ...others,
      corsOrigins: [`https://${'x'.repeat(length)}.example`],
    });
    let length = 4096;
    while (!v.is(settings, withOrigin(length))) length--;

    const sizes = functionsOf(templateOf('prod', withOrigin(length))).map(
      ({ Environment }) =>
        JSON.stringify(Environment.Variables)
          // The name of a stack has 128 characters at most, and is longer than these.
          .replaceAll(/gatehouse[-/]prod/gi, 'x'.repeat(128))
          .replaceAll(/\{"(Ref|Fn::GetAtt)":[^}]*\}/g, JSON.stringify(key)).length,
    );

    expect(Math.max(...sizes)).toBeLessThan(4096);
  });
});

describe('the identity providers', () => {
  /** What the policy of the token function names among these. */
  const reachOf = (template: typeof prod) => {
    const statements = statementsOf(template, functionOf(template, 'POST /api/oauth2/token'));
    const text = JSON.stringify(statements);
    return ['"USER"', '"SESSION#*"', '"IDENTITY#*"', '"ASSERTION#*"', '"SigningKey'].filter(
      (name) => text.includes(name),
    );
  };
  const everyMinute = { Properties: { ScheduleExpression: 'rate(1 minute)' } };

  it('are needed for the rights to log people in, and to fetch keys every minute', () => {
    expect(reachOf(dev)).toEqual([]);
    expect(functionOf(dev, FETCHER)).toEqual({});
    expect(dev.findResources('AWS::Events::Rule', everyMinute)).toEqual({});
    expect(reachOf(other)).toHaveLength(5);
    expect(Object.keys(other.findResources('AWS::Events::Rule', everyMinute))).toHaveLength(1);
  });
});

describe('the console', () => {
  const { domain, edge, mail } = OTHER_SETTINGS;
  const { linkBase: _, confirmLinkBase: __, ...noPages } = mail;
  const pagesIn = (template: typeof prod) => {
    const { MAIL_LINK_BASE, MAIL_CONFIRM_LINK_BASE } = functionOf(template, 'sends mail')
      .Environment.Variables as Record<string, unknown>;
    return [MAIL_LINK_BASE, MAIL_CONFIRM_LINK_BASE];
  };
  const pathsIn = (template: typeof prod) =>
    propertiesOf(template, 'AWS::ApiGatewayV2::Route').flatMap(({ RouteKey, Target }) =>
      RouteKey.includes('/console') ? [[RouteKey, JSON.stringify(Target)]] : [],
    );

  it('is absent if the setting says so', () => {
    const page = 'https://one.example/set-password?key=';
    const without = templateOf('prod', { console: false, mail: { ...noPages, linkBase: page } });

    expect(pathsIn(without)).toEqual([]);
    expect(functionsOf(without)).toHaveLength(functionsOf(prod).length - 1);
    expect(JSON.stringify(without.toJSON())).not.toMatch(/get-?console/);
    expect(pagesIn(without)).toEqual([page, undefined]);
  });

  it.each<[string, Partial<Settings>, string]>([
    ['the host name of the edge', { domain, edge }, `https://${edge.hostName}`],
    ['the host name of the API', { domain }, `https://${domain.name}`],
  ])('is where mailed links lead to, at %s', (_, changes, url) => {
    expect(pagesIn(templateOf('prod', { ...changes, mail: noPages }))).toEqual([
      `${url}/console/set-password#login={login}&key=`,
      `${url}/console/confirm-email#key=`,
    ]);
  });

  it('is where mailed links lead to, at the URL of API Gateway, unless a page is set', () => {
    const at = (path: string) => {
      const endpoint = { 'Fn::GetAtt': [Object.keys(resourcesOf(prod, API))[0], 'ApiEndpoint'] };
      return { 'Fn::Join': ['', [endpoint, path]] };
    };

    expect(pagesIn(templateOf('prod', { mail: noPages }))).toEqual([
      at('/console/set-password#login={login}&key='),
      at('/console/confirm-email#key='),
    ]);
    expect(pagesIn(other)).toEqual([mail.linkBase, mail.confirmLinkBase]);
  });
});

describe('the HTTP API', () => {
  it('throttles most where callers without a token cause expensive work or mail', () => {
    const [stage] = propertiesOf(other, 'AWS::ApiGatewayV2::Stage');
    const strict = { ThrottlingRateLimit: 22, ThrottlingBurstLimit: 44 };

    expect(stage).toMatchObject({
      DefaultRouteSettings: { ThrottlingRateLimit: 11, ThrottlingBurstLimit: 22 },
    });
    expect(stage?.RouteSettings).toEqual({
      'POST /api/authenticate': strict,
      'POST /api/account/confirm-email': strict,
      'POST /api/account/reset-password/init': strict,
      'POST /api/account/reset-password/finish': strict,
    });
  });

  it('with a host name of its own requires TLS 1.2, and has no other name', () => {
    const { domain, edge } = OTHER_SETTINGS;
    const { Outputs } = templateOf('prod', { domain }).toJSON();

    expect(propertiesOf(other, 'AWS::ApiGatewayV2::Api')[0]?.DisableExecuteApiEndpoint).toBe(true);
    expect(propertiesOf(other, 'AWS::ApiGatewayV2::DomainName')).toMatchObject([
      { DomainNameConfigurations: [{ SecurityPolicy: 'TLS_1_2' }] },
    ]);
    expect(Outputs.Url).toEqual({ Value: `https://${domain.name}` });
    expect(other.toJSON().Outputs.Url).toEqual({ Value: `https://${edge.hostName}` });
  });
});

/** The roles of the functions of routes, whose statements are compared with the rows above. */
const rolesOfRoutes = (template: typeof prod) =>
  functionsOf(template).flatMap(({ Description, Role }) =>
    [...routes, ...consoleRoutes].some(({ route }) => route === Description)
      ? [Role['Fn::GetAtt'][0]]
      : [],
  );

/**
 * The forms of the statements of these functions, without keys and attributes of items: the local
 * cloud denies calls on others, and the suite fails for keys that no call uses.
 */
const formsOfRoutes = (template: typeof prod): string[] =>
  routeRows.flatMap(({ route }) =>
    statementsOf(template, functionOf(template, route)).map((statement) =>
      statementText(JSON.parse(JSON.stringify(statement), withoutKeys)),
    ),
  );
const withoutKeys = (name: string, value: unknown) => {
  if (name === 'dynamodb:Attributes') return ['(attributes)'];
  return name === 'dynamodb:LeadingKeys' && Array.isArray(value) ? ['(keys)'] : value;
};

it('the resources, names and policies of production are the recorded ones', () => {
  const forms = [...new Set(formsOfRoutes(prod))].sort().map((form) => `  ${form}\n`);

  return expect(
    `${inventoryOf(prod.toJSON(), rolesOfRoutes(prod))}\nPolicies of routes\n${forms.join('')}`,
  ).toMatchFileSnapshot('production.txt');
});

it('so are those that other settings add', () => {
  const added = (template: typeof prod) => {
    const { Outputs, Resources } = template.toJSON();
    const present = prod.toJSON();
    const withoutPresent = (all: object, some: object) =>
      Object.fromEntries(Object.entries(all).filter(([id]) => !(id in some)));
    return {
      Outputs: withoutPresent(Outputs ?? {}, present.Outputs),
      Resources: withoutPresent(Resources, present.Resources),
    };
  };
  const templates = [
    other,
    edgeTemplateOf('prod', OTHER_SETTINGS),
    backupTemplateOf('prod', OTHER_SETTINGS),
  ];

  return expect(
    templates.map((template) => inventoryOf(added(template), rolesOfRoutes(template))).join('\n'),
  ).toMatchFileSnapshot('other-settings.txt');
});
