// biome-ignore-all lint/suspicious/noTemplateCurlyInString: policy variables are written so
import { describe, expect, it } from 'vitest';
import { type Ask, readPolicy } from '../infra/local/policy.ts';

/* The documented semantics of IAM, page by page of its user guide (docs.aws.amazon.com/IAM/latest/UserGuide/…). */

const TABLE = 'arn:aws:dynamodb:eu-central-1:000000000000:table/Table';
const KEYS = 'dynamodb:LeadingKeys';
const GET = { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: TABLE };

const policy = (...Statement: object[]) => readPolicy([{ Version: '2012-10-17', Statement }]);
const ask = (asked: Partial<Ask> = {}): Ask => ({ action: 'dynamodb:GetItem', resource: TABLE, context: {}, ...asked });
const allows = (statements: object[], asked?: Partial<Ask>) => policy(...statements).allows(ask(asked)) !== undefined;

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
    ['arn:aws:dynamodb?eu-central-1:000000000000:table/Table', TABLE, false],
  ])('%s for %s', (Resource, resource, expected) => {
    expect(allows([{ ...GET, Resource }], { resource })).toBe(expected);
  });
});

describe('conditions (reference_policies_condition-logic-multiple-context-keys-or-values, …_elements_condition_operators)', () => {
  const VIA = 'kms:ViaService';
  const FROM = 'ses:FromAddress';
  it.each([
    ['a value is the same in every letter', { StringEquals: { [VIA]: 'a' } }, { [VIA]: ['a'] }, true],
    ['and not another', { StringEquals: { [VIA]: 'a' } }, { [VIA]: ['A'] }, false],
    ['a star is a star where it is to be equal', { StringEquals: { [VIA]: 'a*' } }, { [VIA]: ['ab'] }, false],
    ['and anything where it is to be like it', { StringLike: { [VIA]: 'a*' } }, { [VIA]: ['ab'] }, true],
    ['a question mark is one character', { StringLike: { [VIA]: 'a?' } }, { [VIA]: ['a'] }, false],
    ['any other sign is only itself', { StringLike: { [VIA]: 'a.c' } }, { [VIA]: ['abc'] }, false],
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
  ])('%s', (_, Condition, context: Ask['context'], expected) => {
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
  ])('%s', (_, Condition, keys, expected) => {
    expect(allows([{ ...GET, Condition }], { context: { [KEYS]: keys } })).toBe(expected);
  });
});

describe('the local cloud does not know, and says so when it reads the policy', () => {
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
  ])('%s', (name, element) => {
    expect(() => policy({ ...GET, ...element })).toThrow(`The local cloud does not know`);
    expect(() => policy({ ...GET, ...element })).toThrow(name);
  });

  it('a policy of the version 2008-10-17', () => {
    expect(() => readPolicy([{ Version: '2008-10-17', Statement: [] }])).toThrow('version 2008-10-17');
  });
});

it('a right is one action on one resource for one partition key, and it is known which one was needed', () => {
  const Condition = { 'ForAllValues:StringLike': { [KEYS]: ['USER', 'LOGIN#*'] } };
  const Action = ['dynamodb:GetItem', 'dynamodb:Query'];

  const { rights, allows } = policy({ ...GET, Action, Condition });

  expect(rights.map(({ action, leadingKey }) => `${action} ${leadingKey}`)).toEqual([
    'dynamodb:GetItem USER',
    'dynamodb:GetItem LOGIN#*',
    'dynamodb:Query USER',
    'dynamodb:Query LOGIN#*',
  ]);
  expect(allows(ask({ context: { [KEYS]: ['LOGIN#bob'] } }))).toEqual([rights[1]]);
});
