import { describe, expect, it } from 'vitest';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { openAuthorization, readPolicies } from '../../infra/local/iam/authorization.ts';
import { type AccessRequest, type Grant, readPolicy } from '../../infra/local/iam/policy.ts';
import { ACCOUNT, type Template } from '../../infra/local/stack/template.ts';

type Call = Pick<AwsCall, 'service' | 'operation' | 'input'>;

const KEYS = 'dynamodb:LeadingKeys';
const ATTRIBUTES = 'dynamodb:Attributes';
const REGION = 'eu-north-1';
const arn = (service: string, name: string) => `arn:aws:${service}:${REGION}:${ACCOUNT}:${name}`;
const TABLE = arn('dynamodb', 'table/Table');
const TABLE_KEY = arn('kms', 'key/table');

const dynamo = (operation: string, input: object) =>
  ({ service: 'DynamoDB', operation, input }) as unknown as Call & { service: 'DynamoDB' };
const key = (pk: string, sk = '1') => ({ pk: { S: pk }, sk: { S: sk } });
const on = (pk: string, sk = '1') => ({ TableName: 'Table', Key: key(pk, sk) });
const item = (pk: string, sk = '1') => ({
  TableName: 'Table',
  Item: { ...key(pk, sk), n: { N: '1' } },
});

describe('a DynamoDB call', () => {
  const act = (
    action: string,
    pk: string,
    sk: string | undefined = '1',
    table = 'Table',
    attributes = ['pk', 'sk'],
  ) => ({ action: `dynamodb:${action}`, table, pk, attributes, ...(sk !== '' && { sk }) });
  const query = (expression: string, values: object, more: object = {}) =>
    dynamo('Query', {
      TableName: 'Table',
      KeyConditionExpression: expression,
      ExpressionAttributeValues: values,
      ...more,
    });

  it.each<[Call, object[]]>([
    [dynamo('PutItem', item('A', '2')), [act('PutItem', 'A', '2', 'Table', ['pk', 'sk', 'n'])]],
    [
      dynamo('BatchGetItem', {
        RequestItems: { Table: { Keys: [key('A'), key('B', '2')] }, Other: { Keys: [key('C')] } },
      }),
      [
        act('BatchGetItem', 'A'),
        act('BatchGetItem', 'B', '2'),
        act('BatchGetItem', 'C', '1', 'Other'),
      ],
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
        act('PutItem', 'A', '1', 'Table', ['pk', 'sk', 'n']),
        act('UpdateItem', 'B'),
        act('DeleteItem', 'C'),
        act('ConditionCheckItem', 'D'),
        act('StrangeItem', 'E'),
      ],
    ],
    [
      query('sk > :a AND pk = :b', { ':a': { S: 'X' }, ':b': { S: 'B' } }),
      [act('Query', 'B', '', 'Table', ['sk', 'pk'])],
    ],
    [
      query('pk = :pk', { ':pk': { S: 'A' } }, { IndexName: 'I' }),
      [act('Query', 'A', '', 'Table/index/I', ['pk'])],
    ],
    [
      dynamo('GetItem', { TableName: 'Table', Key: { pk: { N: '1' } } }),
      [act('GetItem', '', '', 'Table', ['pk'])],
    ],
    [dynamo('Scan', { TableName: 'Table' }), []],
  ])('performs the expected actions on its keys: %j', (call, expected) => {
    expect(actionsOf(call)).toEqual(expected);
  });

  // specifying-conditions: top-level attributes that the parameters specify.
  it.each<[string, object, string[]]>([
    ['SET #a = :a, plain = plain + :b REMOVE #b.#c[0].d', {}, ['x', 'plain', 'y']],
    [
      'SET #a = :a',
      { ConditionExpression: 'attribute_not_exists(pk) OR (size(#b) > :a AND NOT #c IN (:a, n))' },
      ['x', 'y', 'z', 'n'],
    ],
    ['REMOVE #a', { ReturnValues: 'ALL_NEW', ExpressionAttributeValues: { ':q': {} } }, ['x']],
  ])('names the attributes of its key and its expressions: %s %j', (update, more, expected) => {
    const call = dynamo('UpdateItem', {
      ...on('A'),
      UpdateExpression: update,
      ExpressionAttributeNames: { '#a': 'x', '#b': 'y', '#c': 'z' },
      ...more,
    });

    expect(actionsOf(call)[0]?.attributes).toEqual(['pk', 'sk', ...expected]);
  });
});

/** The access requests that a call causes under a policy that allows everything or nothing. */
function requestsOf(call: Call, tableKey?: string, allowed = true): AccessRequest[] {
  const requests: AccessRequest[] = [];
  const grant: Grant = {
    action: '',
    resource: '',
    covers(request) {
      requests.push(request);
      return allowed;
    },
  };
  const stack = { region: REGION, tableKey, nameOf: (of: string) => of };
  openAuthorization(new Map([['f', [grant]]]), stack).denialReason('f', call);
  return requests;
}

describe('the authorization of a call', () => {
  const onKey = (pk: string) => ({ [KEYS]: pk, [ATTRIBUTES]: ['pk', 'sk'] });

  it('checks the action on the table, then the use of its KMS key via DynamoDB', () => {
    expect(requestsOf(dynamo('GetItem', on('A')), TABLE_KEY)).toEqual([
      { action: 'dynamodb:GetItem', resource: TABLE, context: onKey('A') },
      {
        action: 'kms:Decrypt',
        resource: TABLE_KEY,
        context: { 'kms:ViaService': `dynamodb.${REGION}.amazonaws.com` },
      },
    ]);
  });

  it('checks each member of a transaction with its enclosing operation', () => {
    const TransactItems = [{ Update: on('A') }, { Update: on('B') }];
    const requests = requestsOf(dynamo('TransactWriteItems', { TransactItems }));

    const enclosed = { 'dynamodb:EnclosingOperation': 'TransactWriteItems' };
    expect(requests.map(({ context }) => context)).toEqual([
      { ...onKey('A'), ...enclosed },
      { ...onKey('B'), ...enclosed },
    ]);
  });

  it('checks a scan on the whole table, without leading keys', () => {
    expect(requestsOf(dynamo('Scan', { TableName: 'Table' }), TABLE_KEY)).toEqual([
      { action: 'dynamodb:Scan', resource: TABLE, context: {} },
      { action: 'kms:Decrypt', resource: TABLE_KEY, context: expect.anything() },
    ]);
  });

  it.each([
    ['1', arn('kms', 'key/1')],
    ['arn:aws:kms:elsewhere:1:key/2', 'arn:aws:kms:elsewhere:1:key/2'],
  ])('checks a KMS operation on the key %s, with its encryption context', (KeyId, resource) => {
    const EncryptionContext = { service: 'gatehouse', integration: '4' };
    const call = { service: 'KMS', operation: 'Decrypt', input: { KeyId, EncryptionContext } };

    expect(requestsOf(call as unknown as Call)).toEqual([
      {
        action: 'kms:Decrypt',
        resource,
        context: {
          'kms:EncryptionContext:service': 'gatehouse',
          'kms:EncryptionContext:integration': '4',
        },
      },
    ]);
  });

  it('checks both identities of a sender and the configuration set', () => {
    const FromEmailAddress = 'a@b@example.com';
    const request = (name: string) => ({
      action: 'ses:SendEmail',
      resource: arn('ses', name),
      context: { 'ses:FromAddress': FromEmailAddress },
    });
    const send = (input: object) =>
      requestsOf({ service: 'SES', operation: 'SendEmail', input } as unknown as Call);

    const identities = [request(`identity/${FromEmailAddress}`), request('identity/b@example.com')];
    expect(send({ FromEmailAddress })).toEqual(identities);
    expect(send({ FromEmailAddress, ConfigurationSetName: 'events' })).toEqual([
      ...identities,
      request('configuration-set/events'),
    ]);
  });
});

describe('openAuthorization', () => {
  const Action = ['dynamodb:GetItem', 'dynamodb:PutItem'];
  const ALL = { Effect: 'Allow', Action, Resource: TABLE };
  const open = (...Statement: object[]) =>
    openAuthorization(new Map([['f', readPolicy([{ Statement }])]]), {
      region: REGION,
      tableKey: TABLE_KEY,
      nameOf: (of) => (of === TABLE ? 'Table' : of === TABLE_KEY ? 'TableKey' : of),
    });
  const forKeys = (...keys: string[]) => ({
    ...ALL,
    Condition: { 'ForAllValues:StringLike': { [KEYS]: keys } },
  });
  const forAttributes = (...attributes: string[]) => ({
    ...ALL,
    Action: 'dynamodb:UpdateItem',
    Condition: { 'ForAllValues:StringEquals': { [ATTRIBUTES]: attributes } },
  });
  const decrypt = { Effect: 'Allow', Action: 'kms:Decrypt', Resource: TABLE_KEY };

  const onTable = (action: string, pk: string) =>
    `f is not authorized to perform ${action} on Table for ${pk}`;
  const getA = dynamo('GetItem', on('A'));
  it.each<[string, object[], Call, string | undefined]>([
    [
      'an attribute in a transaction',
      [forAttributes('pk', 'sk', 'a'), decrypt],
      dynamo('TransactWriteItems', {
        TransactItems: [
          { Update: { ...on('A'), UpdateExpression: 'SET a = :a' } },
          { Update: { ...on('B'), UpdateExpression: 'SET a = :a', ConditionExpression: 'b = :b' } },
        ],
      }),
      `${onTable('dynamodb:UpdateItem', 'B')} with a, b`,
    ],
    [
      'an unknown operation',
      [ALL],
      dynamo('ListTables', {}),
      'f is not authorized to call ListTables, which the local cloud does not support',
    ],
  ])('names the missing permission: %s', (_, statements, call, sentence) => {
    expect(open(...statements).denialReason('f', call)).toBe(sentence);
  });

  it('denies every call of a function without a policy', () => {
    expect(open(ALL, decrypt).denialReason('g', getA)).toMatch(/^g is not authorized to perform/);
  });

  describe('unused permissions', () => {
    const unusedAfter = (statements: object[], ...calls: Call[]) => {
      const logs = { Effect: 'Allow', Action: 'logs:PutLogEvents', Resource: '*' };
      const authorization = open(...statements, logs);
      for (const call of calls) authorization.denialReason('f', call);
      return authorization.unused();
    };

    it('exclude the permissions that a call needed, and no others', () => {
      expect(unusedAfter([forKeys('A', 'B#*'), decrypt], dynamo('GetItem', on('B#1')))).toEqual([
        'f does not use dynamodb:GetItem on Table for A',
        'f does not use dynamodb:PutItem on Table for A',
        'f does not use dynamodb:PutItem on Table for B#*',
      ]);
    });

    const getItem = (fields: object, key = 'A') => ({
      ...forKeys(key),
      Action: 'dynamodb:GetItem',
      ...fields,
    });
    it.each<[string, object, string?]>([
      ['any resource', getItem({ Resource: '*' })],
      ['any key', getItem({}, '*')],
      ['keys with a prefix', getItem({}, 'A*')],
      ['a key that is not spelled as a kind of item', getItem({}, 'a'), 'a'],
      ['all keys, without a condition', { ...ALL, Action: 'dynamodb:GetItem' }],
    ])(
      'always include a permission to %s, which is too broad to be used up',
      (_, statement, pk = 'A') => {
        const call = dynamo('GetItem', on(pk));

        expect(open(statement, decrypt).denialReason('f', call)).toBeUndefined();
        expect(unusedAfter([statement, decrypt], call)).toHaveLength(1);
      },
    );
  });
});

describe('readPolicies', () => {
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
  const actionsIn = (grants: readonly Grant[] | undefined) => grants?.map(({ action }) => action);

  it('combines the inline and the attached policies of each function’s role', () => {
    const policies = read({
      'AWS::IAM::Role': {
        RoleF: {
          Policies: [{ PolicyDocument: allow('a:One') }, { PolicyDocument: allow('a:Two') }],
        },
        RoleG: {},
        RoleUnused: { Policies: [{ PolicyDocument: allow('a:Never') }] },
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

  const f = { Description: 'f', Role: 'r/R' };
  const role = { 'AWS::IAM::Role': { R: {} } };
  const functions = { 'AWS::Lambda::Function': { F: f } };
  const policyOf = (others: object) => ({ 'AWS::IAM::Policy': { P: { Roles: ['R'], ...others } } });
  it.each<[string, Resources]>([
    ['support .*, which R', { ...functions, 'AWS::IAM::Role': { R: { ManagedPolicyArns: [] } } }],
    [
      'support .*, which R',
      { ...functions, 'AWS::IAM::Role': { R: { PermissionsBoundary: 'x' } } },
    ],
    ['support .*, which R', { ...role, ...functions, ...policyOf({ Users: ['u'] }) }],
    ['support .*, which R', { ...role, ...functions, ...policyOf({ Groups: ['g'] }) }],
    ['function F has no role of its own', functions],
    ['function G has no role of its own', { ...role, 'AWS::Lambda::Function': { F: f, G: f } }],
  ])('rejects unsupported resources: %s', (sentence, resources) => {
    expect(() => read(resources)).toThrow(new RegExp(sentence));
  });
});
