import { describe, expect, it } from 'vitest';
import { actionsOf, isWrite } from '../../infra/local/calls/actions.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { openAuthorization, readPolicies } from '../../infra/local/iam/authorization.ts';
import { type AccessRequest, type Policy, readPolicy } from '../../infra/local/iam/policy.ts';
import { ACCOUNT, type Template } from '../../infra/local/stack/template.ts';

type Asked = Pick<AwsCall, 'service' | 'operation' | 'input'>;

const KEYS = 'dynamodb:LeadingKeys';
const REGION = 'eu-north-1';
const arn = (service: string, name: string) => `arn:aws:${service}:${REGION}:${ACCOUNT}:${name}`;
const TABLE = arn('dynamodb', 'table/Table');
const TABLE_KEY = arn('kms', 'key/table');

const dynamo = (operation: string, input: object) =>
  ({ service: 'DynamoDB', operation, input }) as unknown as Asked & { service: 'DynamoDB' };
const key = (pk: string, sk = '1') => ({ pk: { S: pk }, sk: { S: sk } });
const on = (pk: string, sk = '1') => ({ TableName: 'Table', Key: key(pk, sk) });
const item = (pk: string, sk = '1') => ({ TableName: 'Table', Item: { ...key(pk, sk), n: { N: '1' } } });

describe('what a call does to items', () => {
  const act = (action: string, pk: string, sk: string | undefined = '1', table = 'Table') => ({
    action: `dynamodb:${action}`,
    table,
    pk,
    ...(sk !== '' && { sk }),
  });
  const query = (expression: string, values: object, more: object = {}) =>
    dynamo('Query', {
      TableName: 'Table',
      KeyConditionExpression: expression,
      ExpressionAttributeValues: values,
      ...more,
    });

  it.each<[Asked, object[]]>([
    [dynamo('GetItem', on('A', '2')), [act('GetItem', 'A', '2')]],
    [dynamo('PutItem', item('A', '2')), [act('PutItem', 'A', '2')]],
    [dynamo('UpdateItem', on('A')), [act('UpdateItem', 'A')]],
    [dynamo('DeleteItem', on('A')), [act('DeleteItem', 'A')]],
    [
      dynamo('BatchGetItem', {
        RequestItems: { Table: { Keys: [key('A'), key('B', '2')] }, Other: { Keys: [key('C')] } },
      }),
      [act('BatchGetItem', 'A'), act('BatchGetItem', 'B', '2'), act('BatchGetItem', 'C', '1', 'Other')],
    ],
    [
      dynamo('TransactWriteItems', {
        TransactItems: [
          { Put: item('A') },
          { Update: on('B') },
          { Delete: on('C') },
          { ConditionCheck: on('D') },
          { Strange: on('E') },
        ],
      }),
      [
        act('PutItem', 'A'),
        act('UpdateItem', 'B'),
        act('DeleteItem', 'C'),
        act('ConditionCheckItem', 'D'),
        { action: 'Strange', table: 'Table', pk: 'E', sk: '1' },
      ],
    ],
    [
      dynamo('TransactGetItems', { TransactItems: [{ Get: on('A') }, { Get: on('B', '2') }] }),
      [act('GetItem', 'A'), act('GetItem', 'B', '2')],
    ],
    [query('pk = :pk', { ':pk': { S: 'A' } }), [act('Query', 'A', '')]],
    [query('sk > :a AND pk = :b', { ':a': { S: 'X' }, ':b': { S: 'B' } }), [act('Query', 'B', '')]],
    [query('pk = :pk', { ':pk': { S: 'A' } }, { IndexName: 'I' }), [act('Query', 'A', '', 'Table/index/I')]],
    [query('xpk = :pk', { ':pk': { S: 'A' } }), [act('Query', '', '')]],
    [query('pk = :pk', { ':pk': { N: '1' } }), [act('Query', '', '')]],
    [dynamo('GetItem', { TableName: 'Table', Key: { pk: { N: '1' } } }), [act('GetItem', '', '')]],
    [dynamo('Scan', { TableName: 'Table' }), []],
    [dynamo('DescribeTable', { TableName: 'Table' }), []],
  ])('%j', (call, expected) => {
    expect(actionsOf(call)).toEqual(expected);
  });

  it.each([
    ['TransactWriteItems', true],
    ['PutItem', true],
    ['UpdateItem', true],
    ['DeleteItem', true],
    ['GetItem', false],
    ['BatchGetItem', false],
    ['TransactGetItems', false],
    ['Query', false],
    ['Scan', false],
  ])('%s writes: %s', (operation, expected) => {
    expect(isWrite(operation)).toBe(expected);
  });
});

/** All that AWS asks the policies before it makes a call, of a policy that allows everything or nothing. */
function asksOf(call: Asked, tableKey: string | undefined = undefined, allowed = true): AccessRequest[] {
  const asks: AccessRequest[] = [];
  const policy: Policy = {
    grants: [],
    allows(ask) {
      asks.push(ask);
      return allowed ? [] : undefined;
    },
  };
  openAuthorization(new Map([['f', policy]]), { region: REGION, tableKey, nameOf: (of) => of }).denialReason('f', call);
  return asks;
}

describe('what AWS asks of policies before a call', () => {
  it('is the action on the table for the partition key, and then the key of the table through the table', () => {
    expect(asksOf(dynamo('GetItem', on('A')), TABLE_KEY)).toEqual([
      { action: 'dynamodb:GetItem', resource: TABLE, context: { [KEYS]: ['A'] } },
      {
        action: 'kms:Decrypt',
        resource: TABLE_KEY,
        context: { 'kms:ViaService': [`dynamodb.${REGION}.amazonaws.com`] },
      },
    ]);
  });

  it('is nothing about a key where the table has none', () => {
    expect(asksOf(dynamo('GetItem', on('A')))).toHaveLength(1);
  });

  it.each(['TransactWriteItems', 'TransactGetItems'])(
    'is each member of %s, with the transaction around it',
    (operation) => {
      const member = operation === 'TransactGetItems' ? 'Get' : 'Update';
      const asks = asksOf(dynamo(operation, { TransactItems: [{ [member]: on('A') }, { [member]: on('B') }] }));

      expect(asks.map(({ context }) => context)).toEqual([
        { [KEYS]: ['A'], 'dynamodb:EnclosingOperation': [operation] },
        { [KEYS]: ['B'], 'dynamodb:EnclosingOperation': [operation] },
      ]);
    },
  );

  it('is each key of a batch, without a transaction', () => {
    const asks = asksOf(dynamo('BatchGetItem', { RequestItems: { Table: { Keys: [key('A'), key('B')] } } }));

    expect(asks).toEqual(
      ['A', 'B'].map((pk) => ({ action: 'dynamodb:BatchGetItem', resource: TABLE, context: { [KEYS]: [pk] } })),
    );
  });

  it('is a scan of the whole table, for no key', () => {
    expect(asksOf(dynamo('Scan', { TableName: 'Table' }), TABLE_KEY)).toEqual([
      { action: 'dynamodb:Scan', resource: TABLE, context: {} },
      { action: 'kms:Decrypt', resource: TABLE_KEY, context: expect.anything() },
    ]);
  });

  it.each([
    ['1', arn('kms', 'key/1')],
    ['arn:aws:kms:elsewhere:1:key/2', 'arn:aws:kms:elsewhere:1:key/2'],
  ])('is the operation of KMS on the key %s', (KeyId, resource) => {
    const asked = asksOf({ service: 'KMS', operation: 'GenerateMac', input: { KeyId } } as Asked);

    expect(asked).toEqual([{ action: 'kms:GenerateMac', resource, context: {} }]);
  });

  it('is each part of an encryption context', () => {
    const EncryptionContext = { service: 'gatehouse', integration: '4' };
    const call = { service: 'KMS', operation: 'Decrypt', input: { KeyId: '1', EncryptionContext } } as unknown as Asked;

    expect(asksOf(call)[0]?.context).toEqual({
      'kms:EncryptionContext:service': ['gatehouse'],
      'kms:EncryptionContext:integration': ['4'],
    });
  });

  it('is both identities of a sender, and the configuration set', () => {
    const send = (input: object) =>
      asksOf({ service: 'SES', operation: 'SendEmail', input } as unknown as Asked).map(({ action, ...ask }) => {
        expect(action).toBe('ses:SendEmail');
        return ask;
      });
    const context = { 'ses:FromAddress': ['a@b@example.com'] };

    expect(send({ FromEmailAddress: 'a@b@example.com' })).toEqual([
      { resource: arn('ses', 'identity/a@b@example.com'), context },
      { resource: arn('ses', 'identity/b@example.com'), context },
    ]);
    expect(send({ FromEmailAddress: 'a@b@example.com', ConfigurationSetName: 'events' })).toHaveLength(3);
    expect(send({ FromEmailAddress: 'a@b@example.com', ConfigurationSetName: 'events' })[2]).toEqual({
      resource: arn('ses', 'configuration-set/events'),
      context,
    });
  });

  it('ends at the first refusal', () => {
    expect(asksOf(dynamo('GetItem', on('A')), TABLE_KEY, false)).toHaveLength(1);
  });
});

describe('a refusal', () => {
  const ALL = { Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:PutItem'], Resource: TABLE };
  const open = (...Statement: object[]) =>
    openAuthorization(new Map([['f', readPolicy([{ Version: '2012-10-17', Statement }])]]), {
      region: REGION,
      tableKey: TABLE_KEY,
      nameOf: (of) => (of === TABLE ? 'Table' : of === TABLE_KEY ? 'TableKey' : of),
    });
  const forKeys = (...keys: string[]) => ({ ...ALL, Condition: { 'ForAllValues:StringLike': { [KEYS]: keys } } });
  const decrypt = { Effect: 'Allow', Action: 'kms:Decrypt', Resource: TABLE_KEY };

  it.each<[string, object[], Asked, string | undefined]>([
    [
      'another action',
      [ALL, decrypt],
      dynamo('DeleteItem', on('A')),
      'f is not authorized to perform dynamodb:DeleteItem on Table for A',
    ],
    [
      'another key',
      [forKeys('B'), decrypt],
      dynamo('GetItem', on('A')),
      'f is not authorized to perform dynamodb:GetItem on Table for A',
    ],
    [
      'the key of the table',
      [ALL],
      dynamo('GetItem', on('A')),
      'f is not authorized to perform kms:Decrypt on TableKey',
    ],
    ['nothing', [ALL, decrypt], dynamo('GetItem', on('A')), undefined],
    [
      'the second of two',
      [forKeys('A'), decrypt],
      dynamo('BatchGetItem', { RequestItems: { Table: { Keys: [key('A')] } } }),
      'f is not authorized to perform dynamodb:BatchGetItem on Table for A',
    ],
    [
      'a key of a transaction',
      [forKeys('A'), decrypt],
      dynamo('TransactWriteItems', { TransactItems: [{ Put: item('A') }, { Put: item('B') }] }),
      'f is not authorized to perform dynamodb:PutItem on Table for B',
    ],
    [
      'what is not known',
      [{ Effect: 'Allow', Action: '*', Resource: '*' }],
      dynamo('ListTables', {}),
      'f is not authorized to call ListTables, which the local cloud does not support',
    ],
  ])('names what is lacking: %s', (_, statements, call, sentence) => {
    expect(open(...statements).denialReason('f', call)).toBe(sentence);
  });

  it('is what a function without a policy gets', () => {
    expect(open(ALL, decrypt).denialReason('g', dynamo('GetItem', on('A')))).toBe(
      'g is not authorized to perform dynamodb:GetItem on Table for A',
    );
  });

  describe('and the rights that no call has needed', () => {
    const unusedAfter = (statements: object[], ...calls: Asked[]) => {
      const authorization = open(...statements, { Effect: 'Allow', Action: 'logs:PutLogEvents', Resource: '*' });
      for (const call of calls) authorization.denialReason('f', call);
      return authorization.unused();
    };

    it('are all of them at first, but for those to write logs', () => {
      expect(unusedAfter([forKeys('A', 'B#*'), decrypt])).toEqual([
        'f does not use dynamodb:GetItem on Table for A',
        'f does not use dynamodb:GetItem on Table for B#*',
        'f does not use dynamodb:PutItem on Table for A',
        'f does not use dynamodb:PutItem on Table for B#*',
        'f does not use kms:Decrypt on TableKey',
      ]);
    });

    it('lose those that a call needed, and no other', () => {
      expect(unusedAfter([forKeys('A', 'B#*'), decrypt], dynamo('GetItem', on('B#1')))).toEqual([
        'f does not use dynamodb:GetItem on Table for A',
        'f does not use dynamodb:PutItem on Table for A',
        'f does not use dynamodb:PutItem on Table for B#*',
      ]);
    });

    it('keep those up to a call that was refused', () => {
      const partly = [forKeys('A'), { ...decrypt, Resource: arn('kms', 'key/other') }];

      expect(unusedAfter(partly, dynamo('GetItem', on('A')))).toEqual([
        'f does not use dynamodb:PutItem on Table for A',
        `f does not use kms:Decrypt on ${arn('kms', 'key/other')}`,
      ]);
    });

    it.each<[string, object, string?]>([
      ['any action', { ...forKeys('A'), Action: 'dynamodb:*' }],
      ['some actions', { ...forKeys('A'), Action: 'dynamodb:GetIte?' }],
      ['any resource', { ...forKeys('A'), Action: 'dynamodb:GetItem', Resource: '*' }],
      ['any table', { ...forKeys('A'), Action: 'dynamodb:GetItem', Resource: arn('dynamodb', 'table/Tabl?') }],
      ['any key', { ...forKeys('*'), Action: 'dynamodb:GetItem' }],
      ['keys that begin so', { ...forKeys('A*'), Action: 'dynamodb:GetItem' }],
      ['one key of many characters', { ...forKeys('?'), Action: 'dynamodb:GetItem' }],
      ['more than one kind of item', { ...forKeys('*#*'), Action: 'dynamodb:GetItem' }, 'A#1'],
      ['one kind of item, up to its last character', { ...forKeys('A#*?'), Action: 'dynamodb:GetItem' }, 'A#1'],
      ['what is not written as a kind of item', { ...forKeys('a'), Action: 'dynamodb:GetItem' }, 'a'],
      ['no matter which key', { ...ALL, Action: 'dynamodb:GetItem' }],
    ])('keep a right to %s for ever: no call uses it up', (_, statement, key = 'A') => {
      expect(open(statement, decrypt).denialReason('f', dynamo('GetItem', on(key)))).toBeUndefined();
      expect(unusedAfter([statement, decrypt], dynamo('GetItem', on(key)))).toHaveLength(1);
    });

    it.each(['A', 'ABC', 'A#*'])('lose a right to the key %s', (leadingKey) => {
      const statement = { ...forKeys(leadingKey), Action: 'dynamodb:GetItem' };

      expect(unusedAfter([statement, decrypt], dynamo('GetItem', on(leadingKey.replace('*', '1'))))).toEqual([]);
    });
  });
});

describe('the policies of a template', () => {
  type Resources = Record<string, Record<string, Record<string, unknown>>>;
  const read = (resources: Resources) =>
    readPolicies(
      { ofType: (type) => Object.entries(resources[type] ?? {}) } as Template,
      <T>(value: unknown) => value as T,
    );
  const allow = (...Action: string[]) => ({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action, Resource: '*' }],
  });
  const actionsIn = (policy: Policy | undefined) => policy?.grants.map(({ action }) => action);

  it('are those of the role of each function, whichever resource they stand in', () => {
    const policies = read({
      'AWS::IAM::Role': {
        RoleF: { Policies: [{ PolicyDocument: allow('a:One') }, { PolicyDocument: allow('a:Two') }] },
        RoleG: {},
        RoleOfNobody: { Policies: [{ PolicyDocument: allow('a:Never') }] },
      },
      'AWS::IAM::Policy': {
        P: { Roles: ['RoleF', 'RoleG'], PolicyDocument: allow('a:Three') },
        Q: { Roles: ['RoleG'], PolicyDocument: allow('a:Four') },
        R: { Roles: ['RoleElsewhere'], PolicyDocument: allow('a:Five') },
      },
      'AWS::Lambda::Function': {
        F: { Description: 'f', Role: 'arn:aws:iam::0:role/RoleF' },
        G: { Description: 'g', Role: 'arn:aws:iam::0:role/path/RoleG' },
      },
    });

    expect([...policies.keys()]).toEqual(['f', 'g']);
    expect(actionsIn(policies.get('f'))).toEqual(['a:One', 'a:Two', 'a:Three']);
    expect(actionsIn(policies.get('g'))).toEqual(['a:Three', 'a:Four']);
  });

  it.each<[Resources, string]>([
    [
      { 'AWS::IAM::Role': { R: { ManagedPolicyArns: [] } } },
      'does not support managed policies or permissions boundaries, which R has',
    ],
    [
      { 'AWS::IAM::Role': { R: { PermissionsBoundary: 'x' } } },
      'does not support managed policies or permissions boundaries, which R',
    ],
    [{ 'AWS::IAM::Policy': { P: { Users: ['u'], Roles: [] } } }, 'does not support users or groups, which P names'],
    [{ 'AWS::IAM::Policy': { P: { Groups: ['g'], Roles: [] } } }, 'does not support users or groups, which P names'],
    [{ 'AWS::Lambda::Function': { F: { Description: 'f', Role: 'r/R' } } }, 'The function F has no role of its own'],
    [
      {
        'AWS::IAM::Role': { R: {} },
        'AWS::Lambda::Function': { F: { Description: 'f', Role: 'r/R' }, G: { Description: 'g', Role: 'r/R' } },
      },
      'The function G has no role of its own',
    ],
  ])('stop with what is wrong: %j', (resources, sentence) => {
    expect(() => read(resources)).toThrow(sentence);
  });
});
