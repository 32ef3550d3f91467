// biome-ignore-all lint/suspicious/noTemplateCurlyInString: policy variables are written so
import { describe, expect, it } from 'vitest';
import { type AccessRequest, readPolicy } from '../infra/local/iam/policy.ts';

/* The documented semantics of IAM, page by page of its user guide (docs.aws.amazon.com/IAM/latest/UserGuide/…). */

const TABLE = 'arn:aws:dynamodb:eu-central-1:000000000000:table/Table';
const KEYS = 'dynamodb:LeadingKeys';
const GET = { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: TABLE };

const policy = (...Statement: object[]) => readPolicy([{ Version: '2012-10-17', Statement }]);
const ask = (asked: Partial<AccessRequest> = {}): AccessRequest => ({
  action: 'dynamodb:GetItem',
  resource: TABLE,
  context: {},
  ...asked,
});
const allows = (statements: object[], asked?: Partial<AccessRequest>) =>
  policy(...statements).allows(ask(asked)) !== undefined;

describe('what allows and what denies (reference_policies_evaluation-logic)', () => {
  it.each([
    ['nothing is denied', [], false],
    ['a statement that fits allows', [GET], true],
    ['one of another action does not', [{ ...GET, Action: 'dynamodb:PutItem' }], false],
    ['nor one of another resource', [{ ...GET, Resource: `${TABLE}2` }], false],
    ['an explicit denial stands above what is allowed', [GET, { ...GET, Effect: 'Deny' }], false],
    ['wherever it stands', [{ ...GET, Effect: 'Deny', Action: '*' }, GET], false],
    ['a denial of something else changes nothing', [GET, { ...GET, Effect: 'Deny', Action: 'dynamodb:Scan' }], true],
    [
      'nor does one whose condition does not hold',
      [GET, { ...GET, Effect: 'Deny', Condition: { Null: { [KEYS]: 'false' } } }],
      true,
    ],
    ['a denial of everything stands above it', [GET, { Effect: 'Deny', Action: '*', Resource: '*' }], false],
    ['a denial of another resource does not', [GET, { ...GET, Effect: 'Deny', Resource: `${TABLE}2` }], true],
    [
      'the last of several statements may allow',
      [{ ...GET, Action: 'a:B' }, { ...GET, Resource: `${TABLE}2` }, GET],
      true,
    ],
    [
      'two statements do not add up to one',
      [
        { ...GET, Action: 'a:B' },
        { ...GET, Resource: `${TABLE}2` },
      ],
      false,
    ],
    ['a statement may have a name', [{ ...GET, Sid: 'Read' }], true],
    ['one of several resources is enough', [{ ...GET, Resource: [`${TABLE}2`, TABLE] }], true],
    [
      'one of several actions and resources is enough',
      [{ ...GET, Action: ['a:B', GET.Action], Resource: [TABLE] }],
      true,
    ],
  ])('%s', (_, statements, expected) => {
    expect(allows(statements)).toBe(expected);
  });

  it('all policies of a role count', () => {
    const role = readPolicy([
      { Version: '2012-10-17', Statement: [] },
      { Version: '2012-10-17', Statement: GET },
    ]);

    expect(role.allows(ask())).toBeDefined();
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
  ])('%s', (Action, expected) => {
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
  ])('%s for %s', (Resource, resource, expected) => {
    expect(allows([{ ...GET, Resource }], { resource })).toBe(expected);
  });
});

describe('conditions (reference_policies_condition-logic-multiple-context-keys-or-values, …_elements_condition_operators)', () => {
  const VIA = 'kms:ViaService';
  const FROM = 'ses:FromAddress';
  it.each<[string, object, AccessRequest['context'], boolean]>([
    ['a value is the same in every letter', { StringEquals: { [VIA]: 'a' } }, { [VIA]: ['a'] }, true],
    ['and not another', { StringEquals: { [VIA]: 'a' } }, { [VIA]: ['A'] }, false],
    ['nor one that begins with it', { StringEquals: { [VIA]: 'a' } }, { [VIA]: ['ab'] }, false],
    ['or ends with it', { StringEquals: { [VIA]: 'b' } }, { [VIA]: ['ab'] }, false],
    ['a star is a star where it is to be equal', { StringEquals: { [VIA]: 'a*' } }, { [VIA]: ['ab'] }, false],
    ['and anything where it is to be like it', { StringLike: { [VIA]: 'a*' } }, { [VIA]: ['ab'] }, true],
    ['a question mark is one character', { StringLike: { [VIA]: 'a?' } }, { [VIA]: ['a'] }, false],
    ['any other sign is only itself', { StringLike: { [VIA]: 'a.c' } }, { [VIA]: ['abc'] }, false],
    ['a question mark is any character', { StringLike: { [VIA]: 'a?c' } }, { [VIA]: ['a\nc'] }, true],
    ['a star is also none', { StringLike: { [VIA]: 'a*c' } }, { [VIA]: ['ac'] }, true],
    ['a star goes beyond colons', { StringLike: { [VIA]: 'a*c' } }, { [VIA]: ['a:b\nc'] }, true],
    ['a pattern is for the whole value', { StringLike: { [VIA]: 'a' } }, { [VIA]: ['ab'] }, false],
    ['from its beginning on', { StringLike: { [VIA]: 'b' } }, { [VIA]: ['ab'] }, false],
    ['case counts in a pattern', { StringLike: { [VIA]: 'A*' } }, { [VIA]: ['ab'] }, false],
    ...['^', '$', '|', '+', '(', ')', '[', ']', '{', '}', '\\', '.'].map(
      (sign): [string, object, AccessRequest['context'], boolean] => [
        `${sign} is itself`,
        { StringLike: { [VIA]: `a${sign}*` } },
        { [VIA]: [`a${sign}b`] },
        true,
      ],
    ),
    ['an empty value is missing', { StringLike: { [VIA]: '*' } }, { [VIA]: [''] }, false],
    ['and so it is demanded to be', { Null: { [VIA]: 'true' } }, { [VIA]: [''] }, true],
    ['none of several alternatives', { StringEquals: { [VIA]: ['a', 'b'] } }, { [VIA]: ['c'] }, false],
    [
      'several operators must all hold',
      { StringEquals: { [VIA]: 'a' }, Null: { [FROM]: 'true' } },
      { [VIA]: ['a'], [FROM]: ['x'] },
      false,
    ],
    ['no condition', {}, {}, true],
    [
      'each part of an encryption context by its name',
      { StringEquals: { 'kms:EncryptionContext:service': 'a' } },
      { 'kms:EncryptionContext:service': ['a'], 'kms:EncryptionContext:other': ['b'] },
      true,
    ],
    [
      'not by another name',
      { StringEquals: { 'kms:EncryptionContext:service': 'a' } },
      { 'kms:EncryptionContext:other': ['a'] },
      false,
    ],
    [
      'a key that the request gives in another case',
      { StringEquals: { [VIA]: 'a' } },
      { 'KMS:VIASERVICE': ['a'] },
      true,
    ],
    ['several values are alternatives', { StringEquals: { [VIA]: ['a', 'b'] } }, { [VIA]: ['b'] }, true],
    [
      'several keys must all hold',
      { StringEquals: { [VIA]: 'a', [FROM]: 'x' } },
      { [VIA]: ['a'], [FROM]: ['y'] },
      false,
    ],
    ['several operators too', { StringEquals: { [VIA]: 'a' }, Null: { [FROM]: 'true' } }, { [VIA]: ['a'] }, true],
    ['a missing key equals nothing', { StringEquals: { [VIA]: 'a' } }, {}, false],
    ['a key is the same in any case', { StringEquals: { 'KMS:viaservice': 'a' } }, { [VIA]: ['a'] }, true],
    ['it may be demanded that a key is there', { Null: { [VIA]: 'false' } }, { [VIA]: ['a'] }, true],
    ['and so it is not', { Null: { [VIA]: 'false' } }, {}, false],
    ['or that it is missing', { Null: { [VIA]: 'true' } }, { [VIA]: ['a'] }, false],
  ])('%s', (_, Condition, context, expected) => {
    expect(allows([{ ...GET, Condition }], { context })).toBe(expected);
  });
});

describe('keys with several values (reference_policies_condition-single-vs-multi-valued-context-keys)', () => {
  const all = { 'ForAllValues:StringLike': { [KEYS]: ['USER', 'LOGIN#*'] } };
  const any = { 'ForAnyValue:StringEquals': { [KEYS]: ['USER', 'ADMINS'] } };
  it.each([
    ['for all: each is expected', all, ['USER', 'LOGIN#bob'], true],
    ['for all: one is not', all, ['USER', 'ADMINS'], false],
    ['for all: true where there is none', all, [], true],
    ['for all: true where it is empty', all, [''], true],
    ['for all, and not null: false where there is none', { ...all, Null: { [KEYS]: 'false' } }, [], false],
    ['for all, and not null: false where it is empty', { ...all, Null: { [KEYS]: 'false' } }, [''], false],
    ['for any: one is expected', any, ['TOTAL', 'USER'], true],
    ['for any: none is', any, ['TOTAL', 'CONF'], false],
    ['for any: false where there is none', any, [], false],
    ['for any: false where it is empty', any, [''], false],
    ['for any, by a pattern', { 'ForAnyValue:StringLike': { [KEYS]: ['LOGIN#*'] } }, ['USER', 'LOGIN#bob'], true],
    ['for all, in every letter', { 'ForAllValues:StringEquals': { [KEYS]: ['LOGIN#*'] } }, ['LOGIN#bob'], false],
    ['for all: an empty one among others is not expected', all, ['USER', ''], false],
    ['for all, and not null: true where one is there', { ...all, Null: { [KEYS]: 'false' } }, ['USER'], true],
  ])('%s', (_, Condition, keys, expected) => {
    expect(allows([{ ...GET, Condition }], { context: { [KEYS]: keys } })).toBe(expected);
  });
});

describe('the local cloud does not support, and says so when it reads the policy', () => {
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
    ['the condition operator StringNotEquals', { Condition: { StringNotEquals: { 'kms:ViaService': 'a' } } }],
    ['the condition operator StringLikeIfExists', { Condition: { StringLikeIfExists: { 'kms:ViaService': 'a' } } }],
    ['the condition operator ForAllValues:Null', { Condition: { 'ForAllValues:Null': { [KEYS]: 'true' } } }],
    ['the condition key aws:SourceIp', { Condition: { StringEquals: { 'aws:SourceIp': '::1' } } }],
    ['the policy variable', { Condition: { StringEquals: { 'kms:ViaService': '${aws:username}' } } }],
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
    ['the condition operator ForAllValues:toString', { Condition: { 'ForAllValues:toString': { [KEYS]: 'a' } } }],
    ['the condition operator ForSomeValues:StringLike', { Condition: { 'ForSomeValues:StringLike': { [KEYS]: 'a' } } }],
    ['the condition operator xForAllValues:StringLike', { Condition: { 'xForAllValues:StringLike': { [KEYS]: 'a' } } }],
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
  ])('%s', (name, element) => {
    expect(() => policy({ ...GET, ...element })).toThrow('The local cloud does not support');
    expect(() => policy({ ...GET, ...element })).toThrow(name);
  });

  it('a policy of the version 2008-10-17', () => {
    expect(() => readPolicy([{ Version: '2008-10-17', Statement: [] }])).toThrow('version 2008-10-17');
  });
});

describe('a key that the local cloud gives a request', () => {
  it.each(['dynamodb:EnclosingOperation', 'kms:ViaService', 'kms:EncryptionContext:integration', 'ses:FromAddress'])(
    '%s has one value, in any case of its name',
    (key) => {
      for (const name of [key, key.toUpperCase(), key.toLowerCase()]) {
        for (const operator of ['StringEquals', 'ForAnyValue:StringLike', 'ForAllValues:StringEquals']) {
          const Condition = { [operator]: { [name]: 'a' } };
          expect(allows([{ ...GET, Condition }], { context: { [key]: ['a'] } })).toBe(true);
          expect(allows([{ ...GET, Condition }], { context: { [key]: ['b'] } })).toBe(false);
        }
      }
    },
  );
});

it('of several statements that allow it the first is the one that was needed', () => {
  const { allows, grants } = policy({ ...GET, Action: 'a:B' }, { ...GET, Action: 'dynamodb:*' }, GET);

  expect(allows(ask())).toEqual([grants[1]]);
  expect(allows(ask({ action: 'a:C' }))).toBeUndefined();
});

it('only the grants of one statement count that cover the action, the resource and a key', () => {
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
  expect(allows(ask({ context: { [KEYS]: ['USER', 'TOTAL'] } }))).toEqual([
    expect.objectContaining({ action: 'dynamodb:GetItem', resource: TABLE, leadingKey: 'USER' }),
    expect.objectContaining({ action: 'dynamodb:GetItem', resource: TABLE, leadingKey: 'TOTAL' }),
  ]);
  expect(allows(ask({ resource: `${TABLE}2`, context: { [KEYS]: ['TOTAL'] } }))).toEqual([
    expect.objectContaining({ resource: `${TABLE}2`, leadingKey: 'TOTAL' }),
  ]);
});

it('a right without a condition on partition keys is for any of them', () => {
  const { grants } = policy({ ...GET, Condition: { Null: { [KEYS]: 'false' } } });

  expect(grants.map(({ leadingKey }) => leadingKey)).toEqual([undefined]);
});

it('what denies is no right', () => {
  expect(policy({ ...GET, Effect: 'Deny' }, GET).grants).toHaveLength(1);
});

it('a policy without a version is refused', () => {
  expect(() => readPolicy([{ Statement: [GET] }])).toThrow('version undefined');
});

it('a right is one action on one resource for one partition key, and it is known which one was needed', () => {
  const Condition = { 'ForAllValues:StringLike': { [KEYS]: ['USER', 'LOGIN#*'] } };
  const Action = ['dynamodb:GetItem', 'dynamodb:Query'];

  const { grants, allows } = policy({ ...GET, Action, Condition });

  expect(grants.map(({ action, leadingKey }) => `${action} ${leadingKey}`)).toEqual([
    'dynamodb:GetItem USER',
    'dynamodb:GetItem LOGIN#*',
    'dynamodb:Query USER',
    'dynamodb:Query LOGIN#*',
  ]);
  expect(allows(ask({ context: { [KEYS]: ['LOGIN#bob'] } }))).toEqual([grants[1]]);
});
