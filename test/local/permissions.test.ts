import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { openAuthorization, readPolicies } from '../../infra/local/iam/authorization.ts';
import { readPolicy } from '../../infra/local/iam/policy.ts';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';

interface Statement {
  Action: string | string[];
  Resource: { 'Fn::GetAtt'?: [string, string] };
  Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': string[] } };
}

/** A copy of this run's stack whose IAM statements were changed or removed. */
function stackWith(change: (functionFile: string, statement: Statement) => boolean) {
  const original = inject('assembly');
  const assembly = mkdtempSync(join(tmpdir(), 'gatehouse-permissions-'));
  for (const file of readdirSync(original).filter((name) => name.endsWith('.json'))) {
    cpSync(join(original, file), join(assembly, file));
  }
  const file = join(assembly, 'Gatehouse-dev.template.json');
  const template = JSON.parse(readFileSync(file, 'utf8'));
  // biome-ignore lint/suspicious/noExplicitAny: the template is whatever it is
  for (const [logicalId, { Type, Properties }] of Object.entries<any>(template.Resources)) {
    if (Type !== 'AWS::IAM::Policy') continue;
    const [name = ''] = logicalId.split('role');
    const { PolicyDocument } = Properties;
    PolicyDocument.Statement = PolicyDocument.Statement.filter((statement: Statement) =>
      change(name, statement),
    );
  }
  writeFileSync(file, JSON.stringify(template));
  return { assembly, remove: () => rmSync(assembly, { recursive: true, force: true }) };
}

const MISSING: Record<string, (statement: Statement) => boolean> = {
  gethealth: ({ Action }) => Action === 'dynamodb:GetItem',
  changepassword: ({ Action }) => Action === 'kms:GenerateMac',
  createintegration: ({ Action }) => Action === 'dynamodb:ConditionCheckItem',
  publishkeys: ({ Resource }) => Resource['Fn::GetAtt']?.[0] === 'TableKey',
  listauthorities: ({ Action }) => Action === 'dynamodb:Query',
  MailFunction: ({ Action }) => Action === 'ses:SendEmail',
};

describe('a function that lacks a permission', () => {
  const stack = stackWith((file, statement) => !MISSING[file]?.(statement));
  let gatehouse: Gatehouse;
  let token: string;
  beforeAll(async () => {
    gatehouse = await startGatehouse({ assembly: stack.assembly });
    token = await gatehouse.logIn('admin');
  });
  afterAll(async () => {
    await gatehouse.stop();
    stack.remove();
  });

  async function request(method: string, path: string, body?: object): Promise<number> {
    const { status } = await fetch(`${gatehouse.cloud.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return status;
  }

  it.each([
    [
      'GET',
      '/api/health',
      undefined,
      'is not authorized to perform dynamodb:GetItem on Table for ADMINS',
    ],
    [
      'POST',
      '/api/account/change-password',
      { currentPassword: 'admin', newPassword: 'another' },
      'is not authorized to perform kms:GenerateMac on PepperKey',
    ],
    [
      'POST',
      '/api/utm-integrations',
      { name: 'Gate logs', shortName: 'gate', integrationType: 'API' },
      'is not authorized to perform dynamodb:ConditionCheckItem on Table for USER',
    ],
    [
      'GET',
      '/.well-known/jwks.json',
      undefined,
      'is not authorized to perform kms:Decrypt on TableKey',
    ],
    [
      'GET',
      '/api/users/authorities',
      undefined,
      'is not authorized to perform dynamodb:Query on Table for JWKS',
    ],
  ])('responds to %s %s with 500 and logs the denial once', async (method, path, body, message) => {
    const before = gatehouse.lines.length;

    expect(await request(method, path, body)).toBe(500);

    const denial = `${method} ${path} ${message}`;
    expect(gatehouse.cloud.deniedCalls).toContain(denial);
    const lines = gatehouse.lines.slice(before);
    expect(lines).toContain(denial);
    expect(lines.filter((line) => line.includes('AccessDeniedException'))).toHaveLength(1);
  });

  it('sends no mail and logs the denial', async () => {
    const before = gatehouse.lines.length;

    await request('POST', '/api/account/reset-password/init', { email: 'admin@example.com' });
    await gatehouse.cloud.mailsHandedOver();

    const denial = 'sends mail is not authorized to perform ses:SendEmail on';
    const lines = gatehouse.lines.slice(before);
    expect(lines.find((line) => line.startsWith(denial))).toContain(
      'identity/gatehouse@example.com',
    );
    expect(lines.filter((line) => line.includes('AccessDeniedException'))).toHaveLength(1);
  });
});

describe('an unused permission', () => {
  const HEALTH = 'GET /api/health does not use';
  const unused = ({ cloud }: Gatehouse) =>
    cloud.unusedPermissions().filter((permission) => permission.startsWith(HEALTH));

  let gatehouse: Gatehouse;
  beforeAll(async () => {
    gatehouse = await startGatehouse();
  });
  afterAll(() => gatehouse.stop());

  it('is reported until a request uses it', async () => {
    expect(unused(gatehouse)).toEqual([
      `${HEALTH} dynamodb:GetItem on Table for ADMINS`,
      `${HEALTH} kms:Decrypt on TableKey`,
    ]);
    await gatehouse.call('GET', '/api/health');
    expect(unused(gatehouse)).toEqual([]);
  });

  const keys = (statement: Statement, ...values: string[]) => {
    statement.Condition['ForAllValues:StringLike']['dynamodb:LeadingKeys'] = values;
  };
  it.each<[string, (statement: Statement) => void, string[]]>([
    [
      'another action',
      (it) => (it.Action = ['dynamodb:GetItem', 'dynamodb:Scan']),
      ['dynamodb:Scan on Table for ADMINS'],
    ],
    ['another key', (it) => keys(it, 'ADMINS', 'USER'), ['dynamodb:GetItem on Table for USER']],
    ['any action', (it) => (it.Action = 'dynamodb:*'), ['dynamodb:* on Table for ADMINS']],
    ['any key', (it) => keys(it, '*'), ['dynamodb:GetItem on Table for *']],
    ['a key prefix', (it) => keys(it, 'A*'), ['dynamodb:GetItem on Table for A*']],
    [
      'no condition on keys',
      (it) => Reflect.deleteProperty(it, 'Condition'),
      ['dynamodb:GetItem on Table'],
    ],
    ['any resource', (it) => (it.Resource = '*' as never), ['dynamodb:GetItem on * for ADMINS']],
  ])('is reported after a policy was widened to %s', async (_, widen, expected) => {
    const stack = stackWith((file, statement) => {
      if (file === 'gethealth' && statement.Action === 'dynamodb:GetItem') widen(statement);
      return true;
    });
    await gatehouse.cloud.redeploy(stack.assembly);

    await gatehouse.call('GET', '/api/health');

    expect(unused(gatehouse)).toEqual(expected.map((permission) => `${HEALTH} ${permission}`));
    stack.remove();
  });
});

describe('a call', () => {
  const ARN = 'arn:aws:dynamodb:eu-central-1:000000000000:table/';
  const KEY = 'arn:aws:kms:eu-central-1:000000000000:key/1';
  /**
   * The first permission that a function with these statements lacks for the call, or undefined.
   */
  function lacks(
    { service, operation, input }: Pick<AwsCall, 'service' | 'operation' | 'input'>,
    ...allowed: object[]
  ) {
    const policy = readPolicy([{ Version: '2012-10-17', Statement: allowed }]);
    const place = {
      region: 'eu-central-1',
      tableKey: undefined,
      nameOf: (arn: string) => arn.replace(ARN, ''),
    };
    return openAuthorization(new Map([['f', policy]]), place).denialReason('f', {
      service,
      operation,
      input,
    });
  }
  const key = (pk: string) => ({ TableName: 'Table', Key: { pk: { S: pk }, sk: { S: '1' } } });
  const dynamo = (operation: string, input: object): AwsCall =>
    ({ service: 'DynamoDB', operation, input }) as unknown as AwsCall;

  it.each<[string, AwsCall, string]>([
    ['UpdateItem', dynamo('UpdateItem', key('A')), 'dynamodb:UpdateItem on Table for A'],
    [
      'TransactGetItems',
      dynamo('TransactGetItems', { TransactItems: [{ Get: key('A') }] }),
      'dynamodb:GetItem on Table for A',
    ],
    [
      'a batch',
      dynamo('BatchGetItem', { RequestItems: { Table: { Keys: [key('A').Key] } } }),
      'dynamodb:BatchGetItem on Table for A',
    ],
    ['a scan', dynamo('Scan', { TableName: 'Table' }), 'dynamodb:Scan on Table'],
    [
      'a query of an index',
      dynamo('Query', {
        TableName: 'Table',
        IndexName: 'Names',
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: 'A' } },
      }),
      'dynamodb:Query on Table/index/Names for A',
    ],
    [
      'a key by its id',
      { service: 'KMS', operation: 'Sign', input: { KeyId: '1' } } as unknown as AwsCall,
      `kms:Sign on ${KEY}`,
    ],
  ])('%s requires the permission to its action', (_, call, permission) => {
    expect(lacks(call)).toBe(`f is not authorized to perform ${permission}`);
  });

  it.each(['ExecuteStatement', 'BatchWriteItem', 'DeleteTable'])(
    '%s is rejected, because the permissions that it requires are unknown',
    (operation) => {
      const all = { Effect: 'Allow', Action: '*', Resource: '*' };

      expect(lacks(dynamo(operation, { TableName: 'Table' }), all)).toContain(
        'which the local cloud does not support',
      );
    },
  );

  it('whose permission is limited to transactions is rejected outside of one', () => {
    const only = {
      Effect: 'Allow',
      Action: 'dynamodb:UpdateItem',
      Resource: `${ARN}Table`,
      Condition: {
        'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
      },
    };

    expect(
      lacks(dynamo('TransactWriteItems', { TransactItems: [{ Update: key('A') }] }), only),
    ).toBeUndefined();
    expect(lacks(dynamo('UpdateItem', key('A')), only)).toBe(
      'f is not authorized to perform dynamodb:UpdateItem on Table for A',
    );
  });

  it('that sends mail requires the permission to its configuration set', () => {
    const ses = 'arn:aws:ses:eu-central-1:000000000000:';
    const asSender = { StringEquals: { 'ses:FromAddress': 'gate@example.com' } };
    const statement = (...resources: string[]) => ({
      Effect: 'Allow',
      Action: 'ses:SendEmail',
      Resource: resources.map((resource) => `${ses}${resource}`),
      Condition: asSender,
    });
    const identities = ['identity/gate@example.com', 'identity/example.com'];
    const send = (ConfigurationSetName: string | undefined, ...resources: string[]) => {
      const input = { FromEmailAddress: 'gate@example.com', ConfigurationSetName };
      return lacks(
        { service: 'SES', operation: 'SendEmail', input },
        statement(...identities, ...resources),
      );
    };

    expect(send(undefined)).toBeUndefined();
    expect(send('events', 'configuration-set/events')).toBeUndefined();
    expect(send('events')).toBe(
      `f is not authorized to perform ses:SendEmail on ${ses}configuration-set/events`,
    );
    expect(send('events', 'configuration-set/other')).toContain('configuration-set/events');
  });

  it('that decrypts a value requires its encryption context', () => {
    const only = {
      Effect: 'Allow',
      Action: 'kms:Decrypt',
      Resource: KEY,
      Condition: { StringEquals: { 'kms:EncryptionContext:service': 'gatehouse' } },
    };
    const decrypt = (EncryptionContext?: object) =>
      lacks(
        { service: 'KMS', operation: 'Decrypt', input: { KeyId: KEY, EncryptionContext } },
        only,
      );

    expect(decrypt({ service: 'gatehouse' })).toBeUndefined();
    expect(decrypt({ service: 'other' })).toBeDefined();
    expect(decrypt()).toBeDefined();
  });
});

describe('a template', () => {
  const policiesOf = (resources: Record<string, Record<string, Record<string, unknown>>>) => () =>
    readPolicies(
      {
        stack: '',
        region: '',
        ofType: (type) => Object.entries(resources[type] ?? {}),
        output: () => undefined,
        assetFolder: () => '',
      },
      <T>(value: unknown) => value as T,
    );
  const lambda = (Description: string, Role = 'arn/R') => ({ Description, Role });

  it.each<[string, Record<string, Record<string, Record<string, unknown>>>, string]>([
    [
      'two functions that share a role',
      { 'AWS::IAM::Role': { R: {} }, 'AWS::Lambda::Function': { F: lambda('f'), G: lambda('g') } },
      'The function G has no role of its own',
    ],
    [
      'no role',
      { 'AWS::Lambda::Function': { F: lambda('f') } },
      'The function F has no role of its own',
    ],
    ['a managed policy', { 'AWS::IAM::Role': { R: { ManagedPolicyArns: ['a'] } } }, 'which R has'],
    ['a boundary', { 'AWS::IAM::Role': { R: { PermissionsBoundary: 'a' } } }, 'which R has'],
    [
      'a policy of users',
      { 'AWS::IAM::Policy': { P: { Users: ['u'], Roles: [] } } },
      'which P names',
    ],
  ])('with %s is rejected', (_, resources, message) => {
    expect(policiesOf(resources)).toThrow(message);
  });

  it('may have inline and separate policies of a role', () => {
    const permission = (Action: string) => ({
      Version: '2012-10-17',
      Statement: { Effect: 'Allow', Action, Resource: '*' },
    });
    const policies = policiesOf({
      'AWS::IAM::Role': { R: { Policies: [{ PolicyDocument: permission('kms:Sign') }] } },
      'AWS::IAM::Policy': { P: { Roles: ['R'], PolicyDocument: permission('kms:Verify') } },
      'AWS::Lambda::Function': { F: lambda('f') },
    })();

    expect(policies.get('f')?.grants.map(({ action }) => action)).toEqual([
      'kms:Sign',
      'kms:Verify',
    ]);
  });
});
