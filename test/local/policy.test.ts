// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is the syntax of policy variables
import { describe, expect, it } from 'vitest';
import { type AccessRequest, readPolicy } from '../../infra/local/iam/policy.ts';

/* IAM's documented semantics: each block names its page of docs.aws.amazon.com/IAM. */

const TABLE = 'arn:aws:dynamodb:eu-central-1:000000000000:table/Table';
const KEYS = 'dynamodb:LeadingKeys';
const ATTRIBUTES = 'dynamodb:Attributes';
const VIA = 'kms:ViaService';
const FROM = 'ses:FromAddress';
const both = (from: string) => ({ [VIA]: 'a', [FROM]: from });
const parts = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [`kms:EncryptionContext:${name}`, 'a']));
const GET = { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: TABLE };
const OTHER = { ...GET, Resource: `${TABLE}2` };

const policy = (...Statement: object[]) => readPolicy([{ Statement }]);
const requestWith = (fields: Partial<AccessRequest> = {}): AccessRequest => ({
  action: 'dynamodb:GetItem',
  resource: TABLE,
  context: {},
  ...fields,
});
const allows = (statements: object[], fields?: Partial<AccessRequest>) =>
  policy(...statements).some(({ covers }) => covers(requestWith(fields)));

describe('allow (reference_policies_evaluation-logic)', () => {
  it.each([
    ['an empty policy allows nothing', [], false],
    ['a matching statement, also with a Sid, allows', [{ ...GET, Sid: 'Read' }], true],
    ['statements do not combine', [{ ...GET, Action: 'a:B' }, OTHER], false],
    ['the last of several statements can allow', [{ ...GET, Action: 'a:B' }, GET], true],
    [
      'one matching action and resource of several are enough',
      [{ ...GET, Action: ['a:B', GET.Action], Resource: [`${TABLE}2`, TABLE] }],
      true,
    ],
  ])('%s', (_, statements, expected) => {
    expect(allows(statements)).toBe(expected);
  });
});

describe('a target', () => {
  it.each([
    ['*', TABLE, true],
    [TABLE, TABLE, true],
    [TABLE, `${TABLE}s`, false],
    [TABLE, `x${TABLE}`, false],
  ])('the resource %s covers %s: %j', (Resource, resource, expected) => {
    expect(allows([{ ...GET, Resource }], { resource })).toBe(expected);
  });

  it.each(['dynamodb:Get', 'xdynamodb:GetItem', 'dynamodb.GetItem'])(
    'the action %s does not allow dynamodb:GetItem',
    (Action) => expect(allows([{ ...GET, Action }])).toBe(false),
  );
});

describe('conditions (reference_policies_elements_condition_operators)', () => {
  it.each([
    ['StringEquals', 'a', 'a', true],
    ['StringEquals', 'a', 'A', false],
    ['StringEquals', 'a', 'ab', false],
    ['StringEquals', 'b', 'ab', false],
    ['StringEquals', ['a', 'b'], 'b', true],
    ['StringEquals', ['a', 'b'], 'c', false],
    ['StringEquals', 'a', undefined, false],
    ['Null', 'true', undefined, true],
    ['Null', 'true', 'a', false],
    ['Null', 'false', 'a', true],
    ['Null', 'false', undefined, false],
  ])('%s with %j is met by %j: %j', (operator, pattern, value, expected) => {
    const context: AccessRequest['context'] = value === undefined ? {} : { [VIA]: value };

    expect(allows([{ ...GET, Condition: { [operator]: { [VIA]: pattern } } }], { context })).toBe(
      expected,
    );
  });

  it.each<[string, object, AccessRequest['context'], boolean]>([
    [
      'all of several operators must hold',
      { StringEquals: { [VIA]: 'a' }, Null: { [FROM]: 'true' } },
      { [VIA]: 'a', [FROM]: 'x' },
      false,
    ],
    ['all of several keys must match', { StringEquals: both('x') }, both('y'), false],
    ['an empty condition is met', {}, {}, true],
    ['no other encryption context matches', { StringEquals: parts('a') }, parts('b'), false],
    [
      'a part of an encryption context matches',
      { StringEquals: parts('a') },
      parts('a', 'b'),
      true,
    ],
  ])('%s', (_, Condition, context, expected) => {
    expect(allows([{ ...GET, Condition }], { context })).toBe(expected);
  });
});

// reference_policies_condition-single-vs-multi-valued-context-keys
describe('a condition on partition keys', () => {
  const all = { 'ForAllValues:StringLike': { [KEYS]: ['USER', 'LOGIN#*'] } };
  const present = { ...all, Null: { [KEYS]: 'false' } };
  const any = { 'ForAnyValue:StringEquals': { [KEYS]: ['USER', 'ADMINS'] } };
  const like = { 'ForAllValues:StringLike': { [KEYS]: ['a^$|+()[]{}\\.*'] } };
  it.each([
    ['ForAllValues', all, 'USER', true],
    ['ForAllValues', all, 'LOGIN#bob', true],
    ['ForAllValues', all, 'ADMINS', false],
    ['ForAllValues', all, '', false],
    ['ForAllValues with Null: false', present, undefined, false],
    ['ForAllValues', all, 'USERS', false],
    ['ForAllValues', all, 'xLOGIN#bob', false],
    ['ForAllValues with Null: false', present, 'USER', true],
    ['ForAnyValue', any, 'USER', true],
    ['ForAnyValue', any, 'CONF', false],
    ['ForAnyValue', any, undefined, false],
    ['ForAllValues', like, 'a^$|+()[]{}\\.b', true],
  ])('%s (%j) is met by %j: %j', (_, Condition, pk, expected) => {
    const context: AccessRequest['context'] = pk === undefined ? {} : { [KEYS]: pk };

    expect(allows([{ ...GET, Condition }], { context })).toBe(expected);
  });
});

describe('a condition on attributes', () => {
  const Condition = { 'ForAllValues:StringEquals': { [ATTRIBUTES]: ['pk', 'n'] } };
  it.each([
    [['pk', 'n'], true],
    [['nn'], false],
    [[], true],
    [undefined, true],
  ])('of ForAllValues:StringEquals is met by %j: %j', (attributes, expected) => {
    const context: AccessRequest['context'] = attributes ? { [ATTRIBUTES]: attributes } : {};

    expect(allows([{ ...GET, Condition }], { context })).toBe(expected);
  });

  it('does not combine with a statement for another partition key', () => {
    const of = (key: string, attribute: string) => ({
      ...GET,
      Condition: {
        'ForAllValues:StringLike': { [KEYS]: [key] },
        'ForAllValues:StringEquals': { [ATTRIBUTES]: [attribute] },
      },
    });
    const context = { [KEYS]: 'USER', [ATTRIBUTES]: ['n'] };

    expect(allows([of('USER', 'm'), of('ADMINS', 'n')], { context })).toBe(false);
  });
});

describe('a policy that the local cloud does not support', () => {
  const condition = (operator: string, key = VIA, value: unknown = 'a') => ({
    Condition: { [operator]: { [key]: value } },
  });
  it.each<[string, object]>([
    ['NotAction', { NotAction: '*' }],
    ['the effect Deny', { Effect: 'Deny' }],
    ['wildcard in dynamodb:GetIte?', { Action: 'dynamodb:GetIte?' }],
    ['variable or wildcard in arn:*', { Resource: 'arn:*' }],
    ['variable or wildcard in ${aws:username}', { Resource: '${aws:username}' }],
    ...['*#*', 'A?', '${aws:username}'].map((key): [string, object] => [
      `variable or wildcard in ${key}`,
      condition('ForAllValues:StringLike', KEYS, key),
    ]),
    ['variable or wildcard in a*', condition('StringEquals', VIA, 'a*')],
    ['{"Ref":"Table"} in a policy', { Resource: { Ref: 'Table' } }],
    ['the condition operator StringLike', condition('StringLike')],
    ['the condition operator ForAllValues:StringEquals', condition('ForAllValues:StringEquals')],
    ['without ForAllValues or ForAnyValue', condition('StringEquals', ATTRIBUTES)],
  ])('is rejected with an error that names %s', (name, element) => {
    const read = () => policy({ ...GET, ...element });

    expect(read).toThrow('The local cloud does not support');
    expect(read).toThrow(name);
  });
});

it('a grant is one action on one resource for one partition key, or for all', () => {
  const Condition = { 'ForAllValues:StringLike': { [KEYS]: ['USER', 'LOGIN#*'] } };
  const context = { [KEYS]: 'LOGIN#bob' };

  const grants = policy({ ...OTHER, Action: ['a:B', GET.Action], Condition }, GET);
  const covering = grants.filter(({ covers }) =>
    covers(requestWith({ resource: OTHER.Resource, context })),
  );

  expect(grants.map(({ leadingKey }) => leadingKey)).toEqual([
    ...['USER', 'LOGIN#*', 'USER', 'LOGIN#*', undefined],
  ]);
  expect(covering).toMatchObject([{ action: GET.Action, leadingKey: 'LOGIN#*' }]);
});
