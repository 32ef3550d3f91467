// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is the syntax of policy variables
import { describe, expect, it } from 'vitest';
import { type AccessRequest, readPolicy } from '../../infra/local/iam/policy.ts';

/*
 * IAM's documented semantics; each block names its page of
 * docs.aws.amazon.com/IAM/latest/UserGuide.
 */

const TABLE = 'arn:aws:dynamodb:eu-central-1:000000000000:table/Table';
const KEYS = 'dynamodb:LeadingKeys';
const GET = { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: TABLE };

const policy = (...Statement: object[]) => readPolicy([{ Version: '2012-10-17', Statement }]);
const requestWith = (fields: Partial<AccessRequest> = {}): AccessRequest => ({
  action: 'dynamodb:GetItem',
  resource: TABLE,
  context: {},
  ...fields,
});
const allows = (statements: object[], fields?: Partial<AccessRequest>) =>
  policy(...statements).allows(requestWith(fields)) !== undefined;

describe('allow and deny (reference_policies_evaluation-logic)', () => {
  it.each([
    ['an empty policy allows nothing', [], false],
    ['a matching statement allows', [GET], true],
    [
      'a statement for another action does not allow',
      [{ ...GET, Action: 'dynamodb:PutItem' }],
      false,
    ],
    ['a statement for another resource does not allow', [{ ...GET, Resource: `${TABLE}2` }], false],
    ['an explicit deny overrides an allow', [GET, { ...GET, Effect: 'Deny' }], false],
    [
      'an explicit deny overrides an allow that follows it',
      [{ ...GET, Effect: 'Deny', Action: '*' }, GET],
      false,
    ],
    [
      'a deny of another action has no effect',
      [GET, { ...GET, Effect: 'Deny', Action: 'dynamodb:Scan' }],
      true,
    ],
    [
      'a deny whose condition is not met has no effect',
      [GET, { ...GET, Effect: 'Deny', Condition: { Null: { [KEYS]: 'false' } } }],
      true,
    ],
    [
      'a deny of all actions and resources overrides an allow',
      [GET, { Effect: 'Deny', Action: '*', Resource: '*' }],
      false,
    ],
    [
      'a deny of another resource has no effect',
      [GET, { ...GET, Effect: 'Deny', Resource: `${TABLE}2` }],
      true,
    ],
    [
      'the last of several statements can allow',
      [{ ...GET, Action: 'a:B' }, { ...GET, Resource: `${TABLE}2` }, GET],
      true,
    ],
    [
      'the resource of one statement and the action of another do not combine',
      [
        { ...GET, Action: 'a:B' },
        { ...GET, Resource: `${TABLE}2` },
      ],
      false,
    ],
    ['a statement may have a Sid', [{ ...GET, Sid: 'Read' }], true],
    [
      'one matching resource of several is enough',
      [{ ...GET, Resource: [`${TABLE}2`, TABLE] }],
      true,
    ],
    [
      'one matching action of several is enough',
      [{ ...GET, Action: ['a:B', GET.Action], Resource: [TABLE] }],
      true,
    ],
  ])('%s', (_, statements, expected) => {
    expect(allows(statements)).toBe(expected);
  });

  it('all policies of a role apply', () => {
    const role = readPolicy([
      { Version: '2012-10-17', Statement: [] },
      { Version: '2012-10-17', Statement: GET },
    ]);

    expect(role.allows(requestWith())).toBeDefined();
  });
});

describe('actions (reference_policies_elements_action)', () => {
  it.each([
    ['DYNAMODB:getitem', true],
    ['dynamodb:*', true],
    ['dynamodb:Get*', true],
    ['dynamodb:?etItem', true],
    ['dynamodb:*Item', true],
    ['*', true],
    ['dynamodb:Get', false],
    ['dynamodb:GetItem?', false],
    ['kms:*', false],
    ['dynamodb.GetItem', false],
    ['GetItem', false],
    ['xdynamodb:GetItem', false],
    ['dynamodb:GetItem*', true],
    ['?ynamodb:GetItem', true],
    ['dynamodb:GetIte??', false],
  ])('the action %s allows dynamodb:GetItem: %j', (Action, expected) => {
    expect(allows([{ ...GET, Action }])).toBe(expected);
  });
});

describe('resources (reference_policies_elements_resource)', () => {
  it.each([
    ['*', TABLE, true],
    ['arn:aws:dynamodb:*:*:table/Table', TABLE, true],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/*', TABLE, true],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/T?ble', TABLE, true],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/table', TABLE, false],
    ['arn:aws:dynamodb:eu-central-1:000000000000:*/index/Names', `${TABLE}/index/Names`, true],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/Table', `${TABLE}/index/Names`, false],
    ['arn:aws:dynamodb:*', TABLE, true],
    ['arn:aws:dynamodb:e*1:000000000000:table/Table', TABLE, true],
    ['arn:aws:dynamodb:e*e', TABLE, false],
    ['arn:aws:dynamodb:*:table/Table', TABLE, true],
    ['arn:aws:dynamodb:e*:table/Table', TABLE, true],
    ['arn:aws:dynamodb:eu-*-1:000000000000:table/Table', TABLE, true],
    ['arn:aws:dynamodb:eu-*1:table/Table', TABLE, false],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/Table*', TABLE, true],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/Tabl', TABLE, false],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/Table', `${TABLE}s`, false],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/Table', `x${TABLE}`, false],
    ['arn:aws:dynamodb:eu-central-1:?:table/Table', TABLE, false],
    ['arn:aws:dynamodb:eu-central-1:000000000000:table/(Table)', TABLE, false],
    ['arn:*', TABLE, true],
    ['arn:aws:dynamodb?eu-central-1:000000000000:table/Table', TABLE, false],
  ])('the resource %s covers %s: %j', (Resource, resource, expected) => {
    expect(allows([{ ...GET, Resource }], { resource })).toBe(expected);
  });
});

describe('conditions (reference_policies_elements_condition_operators)', () => {
  const VIA = 'kms:ViaService';
  const FROM = 'ses:FromAddress';
  it.each<[string, object, AccessRequest['context'], boolean]>([
    [
      'StringEquals matches the exact value',
      { StringEquals: { [VIA]: 'a' } },
      { [VIA]: ['a'] },
      true,
    ],
    ['StringEquals is case-sensitive', { StringEquals: { [VIA]: 'a' } }, { [VIA]: ['A'] }, false],
    [
      'StringEquals does not match a prefix',
      { StringEquals: { [VIA]: 'a' } },
      { [VIA]: ['ab'] },
      false,
    ],
    [
      'StringEquals does not match a suffix',
      { StringEquals: { [VIA]: 'b' } },
      { [VIA]: ['ab'] },
      false,
    ],
    [
      'StringEquals treats * literally',
      { StringEquals: { [VIA]: 'a*' } },
      { [VIA]: ['ab'] },
      false,
    ],
    ['StringLike treats * as a wildcard', { StringLike: { [VIA]: 'a*' } }, { [VIA]: ['ab'] }, true],
    [
      'StringLike requires one character for ?',
      { StringLike: { [VIA]: 'a?' } },
      { [VIA]: ['a'] },
      false,
    ],
    ['StringLike treats . literally', { StringLike: { [VIA]: 'a.c' } }, { [VIA]: ['abc'] }, false],
    [
      'StringLike matches any character with ?',
      { StringLike: { [VIA]: 'a?c' } },
      { [VIA]: ['a\nc'] },
      true,
    ],
    [
      'StringLike matches an empty string with *',
      { StringLike: { [VIA]: 'a*c' } },
      { [VIA]: ['ac'] },
      true,
    ],
    [
      'StringLike matches colons and line breaks with *',
      { StringLike: { [VIA]: 'a*c' } },
      { [VIA]: ['a:b\nc'] },
      true,
    ],
    [
      'StringLike does not match a prefix',
      { StringLike: { [VIA]: 'a' } },
      { [VIA]: ['ab'] },
      false,
    ],
    [
      'StringLike does not match a suffix',
      { StringLike: { [VIA]: 'b' } },
      { [VIA]: ['ab'] },
      false,
    ],
    ['StringLike is case-sensitive', { StringLike: { [VIA]: 'A*' } }, { [VIA]: ['ab'] }, false],
    ...['^', '$', '|', '+', '(', ')', '[', ']', '{', '}', '\\', '.'].map(
      (sign): [string, object, AccessRequest['context'], boolean] => [
        `StringLike treats ${sign} literally`,
        { StringLike: { [VIA]: `a${sign}*` } },
        { [VIA]: [`a${sign}b`] },
        true,
      ],
    ),
    ['an empty value counts as missing', { StringLike: { [VIA]: '*' } }, { [VIA]: [''] }, false],
    ['Null: true is met by an empty value', { Null: { [VIA]: 'true' } }, { [VIA]: [''] }, true],
    [
      'a value other than the listed alternatives does not match',
      { StringEquals: { [VIA]: ['a', 'b'] } },
      { [VIA]: ['c'] },
      false,
    ],
    [
      'a condition is not met when one of several operators is not',
      { StringEquals: { [VIA]: 'a' }, Null: { [FROM]: 'true' } },
      { [VIA]: ['a'], [FROM]: ['x'] },
      false,
    ],
    ['an empty condition is met', {}, {}, true],
    [
      'an encryption context is matched by the name of each part',
      { StringEquals: { 'kms:EncryptionContext:service': 'a' } },
      { 'kms:EncryptionContext:service': ['a'], 'kms:EncryptionContext:other': ['b'] },
      true,
    ],
    [
      'an encryption context does not match under another name',
      { StringEquals: { 'kms:EncryptionContext:service': 'a' } },
      { 'kms:EncryptionContext:other': ['a'] },
      false,
    ],
    [
      'a context key matches when the request spells it in another case',
      { StringEquals: { [VIA]: 'a' } },
      { 'KMS:VIASERVICE': ['a'] },
      true,
    ],
    [
      'several values of a key are alternatives',
      { StringEquals: { [VIA]: ['a', 'b'] } },
      { [VIA]: ['b'] },
      true,
    ],
    [
      'a condition is not met when one of several keys does not match',
      { StringEquals: { [VIA]: 'a', [FROM]: 'x' } },
      { [VIA]: ['a'], [FROM]: ['y'] },
      false,
    ],
    [
      'a condition is met when all of several operators are',
      { StringEquals: { [VIA]: 'a' }, Null: { [FROM]: 'true' } },
      { [VIA]: ['a'] },
      true,
    ],
    ['a missing key matches no value', { StringEquals: { [VIA]: 'a' } }, {}, false],
    [
      'a context key matches when the policy spells it in another case',
      { StringEquals: { 'KMS:viaservice': 'a' } },
      { [VIA]: ['a'] },
      true,
    ],
    ['Null: false is met by a present key', { Null: { [VIA]: 'false' } }, { [VIA]: ['a'] }, true],
    ['Null: false is not met by a missing key', { Null: { [VIA]: 'false' } }, {}, false],
    [
      'Null: true is not met by a present key',
      { Null: { [VIA]: 'true' } },
      { [VIA]: ['a'] },
      false,
    ],
  ])('%s', (_, Condition, context, expected) => {
    expect(allows([{ ...GET, Condition }], { context })).toBe(expected);
  });
});

// reference_policies_condition-single-vs-multi-valued-context-keys
describe('multivalued context keys', () => {
  const all = { 'ForAllValues:StringLike': { [KEYS]: ['USER', 'LOGIN#*'] } };
  const any = { 'ForAnyValue:StringEquals': { [KEYS]: ['USER', 'ADMINS'] } };
  it.each([
    ['ForAllValues matches when every value matches', all, ['USER', 'LOGIN#bob'], true],
    ['ForAllValues does not match when one value does not', all, ['USER', 'ADMINS'], false],
    ['ForAllValues matches when the key is missing', all, [], true],
    ['ForAllValues matches when the value is empty', all, [''], true],
    [
      'ForAllValues with Null: false does not match when the key is missing',
      { ...all, Null: { [KEYS]: 'false' } },
      [],
      false,
    ],
    [
      'ForAllValues with Null: false does not match when the value is empty',
      { ...all, Null: { [KEYS]: 'false' } },
      [''],
      false,
    ],
    ['ForAnyValue matches when one value matches', any, ['TOTAL', 'USER'], true],
    ['ForAnyValue does not match when no value matches', any, ['TOTAL', 'CONF'], false],
    ['ForAnyValue does not match when the key is missing', any, [], false],
    ['ForAnyValue does not match when the value is empty', any, [''], false],
    [
      'ForAnyValue:StringLike matches a pattern',
      { 'ForAnyValue:StringLike': { [KEYS]: ['LOGIN#*'] } },
      ['USER', 'LOGIN#bob'],
      true,
    ],
    [
      'ForAllValues:StringEquals treats * literally',
      { 'ForAllValues:StringEquals': { [KEYS]: ['LOGIN#*'] } },
      ['LOGIN#bob'],
      false,
    ],
    ['ForAllValues does not match when one of several values is empty', all, ['USER', ''], false],
    [
      'ForAllValues with Null: false matches when the key is present',
      { ...all, Null: { [KEYS]: 'false' } },
      ['USER'],
      true,
    ],
  ])('%s', (_, Condition, keys, expected) => {
    expect(allows([{ ...GET, Condition }], { context: { [KEYS]: keys } })).toBe(expected);
  });
});

describe('a policy that the local cloud does not support', () => {
  it.each([
    ['NotAction', { NotAction: 'a:B' }],
    ['NotResource', { NotResource: '*' }],
    ['Principal', { Principal: '*' }],
    ['the effect allow', { Effect: 'allow' }],
    ['without action or resource', { Action: [] }],
    ['without action or resource', { Resource: undefined }],
    ['the resource table/Table', { Resource: 'table/Table' }],
    ['the policy variable in ${aws:username}', { Resource: '${aws:username}' }],
    ['{"Ref":"Table"} in a policy', { Resource: { Ref: 'Table' } }],
    [
      'the condition operator StringNotEquals',
      { Condition: { StringNotEquals: { 'kms:ViaService': 'a' } } },
    ],
    [
      'the condition operator StringLikeIfExists',
      { Condition: { StringLikeIfExists: { 'kms:ViaService': 'a' } } },
    ],
    [
      'the condition operator ForAllValues:Null',
      { Condition: { 'ForAllValues:Null': { [KEYS]: 'true' } } },
    ],
    ['the condition key aws:SourceIp', { Condition: { StringEquals: { 'aws:SourceIp': '::1' } } }],
    [
      'the policy variable',
      { Condition: { StringEquals: { 'kms:ViaService': '${aws:username}' } } },
    ],
    ['without ForAllValues or ForAnyValue', { Condition: { StringLike: { [KEYS]: 'USER' } } }],
    ['Null: maybe', { Condition: { Null: { [KEYS]: 'maybe' } } }],
    ['Null: xtrue', { Condition: { Null: { [KEYS]: 'xtrue' } } }],
    ['Null: falsey', { Condition: { Null: { [KEYS]: 'falsey' } } }],
    ['Null: true,false', { Condition: { Null: { [KEYS]: ['true', 'false'] } } }],
    ['Null: ', { Condition: { Null: { [KEYS]: [] } } }],
    ['true in a policy', { Condition: { Null: { [KEYS]: true } } }],
    ['7 in a policy', { Action: ['dynamodb:GetItem', 7] }],
    ['the effect undefined', { Effect: undefined }],
    ['without action or resource', { Action: undefined }],
    ['without action or resource', { Resource: [] }],
    ['NotPrincipal', { NotPrincipal: '*' }],
    ['the policy variable in dynamodb:${x}', { Action: 'dynamodb:${x}' }],
    ['the resource xarn:aws', { Resource: 'xarn:aws' }],
    ['the condition operator toString', { Condition: { toString: { 'kms:ViaService': 'a' } } }],
    [
      'the condition operator ForAllValues:toString',
      { Condition: { 'ForAllValues:toString': { [KEYS]: 'a' } } },
    ],
    [
      'the condition operator ForSomeValues:StringLike',
      { Condition: { 'ForSomeValues:StringLike': { [KEYS]: 'a' } } },
    ],
    [
      'the condition operator xForAllValues:StringLike',
      { Condition: { 'xForAllValues:StringLike': { [KEYS]: 'a' } } },
    ],
    ['the condition operator null', { Condition: { null: { 'kms:ViaService': 'true' } } }],
    ['the condition operator stringlike', { Condition: { stringlike: { 'kms:ViaService': 'a' } } }],
    [
      'StringEquals without ForAllValues or ForAnyValue',
      { Condition: { StringEquals: { 'DYNAMODB:leadingkeys': 'USER' } } },
    ],
    ...[
      'xdynamodb:LeadingKeys',
      'dynamodb:LeadingKeysX',
      'xdynamodb:EnclosingOperation',
      'dynamodb:EnclosingOperations',
      'xkms:ViaService',
      'kms:ViaServices',
      'xkms:EncryptionContext:a',
      'kms:EncryptionContext:',
      'kms:EncryptionContextKeys',
      'xses:FromAddress',
      'ses:FromAddresses',
      'dynamodb:Attributes',
    ].map((key): [string, object] => [
      `the condition key ${key}`,
      { Condition: { 'ForAllValues:StringEquals': { [key]: 'a' } } },
    ]),
  ])('is rejected with an error that names %s', (name, element) => {
    expect(() => policy({ ...GET, ...element })).toThrow(`The local cloud does not support`);
    expect(() => policy({ ...GET, ...element })).toThrow(name);
  });

  it('is rejected when its version is 2008-10-17', () => {
    expect(() => readPolicy([{ Version: '2008-10-17', Statement: [] }])).toThrow(
      'version 2008-10-17',
    );
  });
});

describe('a context key of the local cloud', () => {
  it.each([
    'dynamodb:EnclosingOperation',
    'kms:ViaService',
    'kms:EncryptionContext:integration',
    'ses:FromAddress',
  ])('%s has a single value and a case-insensitive name', (key) => {
    for (const name of [key, key.toUpperCase(), key.toLowerCase()]) {
      for (const operator of [
        'StringEquals',
        'ForAnyValue:StringLike',
        'ForAllValues:StringEquals',
      ]) {
        const Condition = { [operator]: { [name]: 'a' } };
        expect(allows([{ ...GET, Condition }], { context: { [key]: ['a'] } })).toBe(true);
        expect(allows([{ ...GET, Condition }], { context: { [key]: ['b'] } })).toBe(false);
      }
    }
  });
});

it('reports the grant of the first of several matching statements', () => {
  const { allows, grants } = policy(
    { ...GET, Action: 'a:B' },
    { ...GET, Action: 'dynamodb:*' },
    GET,
  );

  expect(allows(requestWith())).toEqual([grants[1]]);
  expect(allows(requestWith({ action: 'a:C' }))).toBeUndefined();
});

it('reports only the grants that cover the action, the resource and the key', () => {
  const Condition = {
    'ForAllValues:StringEquals': { 'dynamodb:leadingkeys': ['USER', 'TOTAL'] },
    Null: { [KEYS]: 'false' },
  };
  const { allows, grants } = policy({
    ...GET,
    Action: ['dynamodb:GetItem', 'dynamodb:Query'],
    Resource: [TABLE, `${TABLE}2`],
    Condition,
  });

  expect(grants).toHaveLength(8);
  expect(allows(requestWith({ context: { [KEYS]: ['USER', 'TOTAL'] } }))).toEqual([
    expect.objectContaining({ action: 'dynamodb:GetItem', resource: TABLE, leadingKey: 'USER' }),
    expect.objectContaining({ action: 'dynamodb:GetItem', resource: TABLE, leadingKey: 'TOTAL' }),
  ]);
  expect(allows(requestWith({ resource: `${TABLE}2`, context: { [KEYS]: ['TOTAL'] } }))).toEqual([
    expect.objectContaining({ resource: `${TABLE}2`, leadingKey: 'TOTAL' }),
  ]);
});

it('a grant without a condition on partition keys covers all of them', () => {
  const { grants } = policy({ ...GET, Condition: { Null: { [KEYS]: 'false' } } });

  expect(grants.map(({ leadingKey }) => leadingKey)).toEqual([undefined]);
});

it('a deny statement is not counted as a grant', () => {
  expect(policy({ ...GET, Effect: 'Deny' }, GET).grants).toHaveLength(1);
});

it('rejects a policy without a version', () => {
  expect(() => readPolicy([{ Statement: [GET] }])).toThrow('version undefined');
});

it('a grant is one action on one resource for one partition key', () => {
  const Condition = { 'ForAllValues:StringLike': { [KEYS]: ['USER', 'LOGIN#*'] } };
  const Action = ['dynamodb:GetItem', 'dynamodb:Query'];

  const { grants, allows } = policy({ ...GET, Action, Condition });

  expect(grants.map(({ action, leadingKey }) => `${action} ${leadingKey}`)).toEqual([
    'dynamodb:GetItem USER',
    'dynamodb:GetItem LOGIN#*',
    'dynamodb:Query USER',
    'dynamodb:Query LOGIN#*',
  ]);
  expect(allows(requestWith({ context: { [KEYS]: ['LOGIN#bob'] } }))).toEqual([grants[1]]);
});
