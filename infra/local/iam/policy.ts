import { isLike } from '../calls/actions.ts';

/*
 * IAM's evaluation of identity-based policies. Reading a policy with a feature that the stack does
 * not use throws: a permission evaluated incorrectly would prove nothing.
 */

export interface PolicyDocument {
  readonly Statement: unknown;
}

/** What a call needs, with the value or values of each condition key. */
export interface AccessRequest {
  readonly action: string;
  readonly resource: string;
  readonly context: Readonly<Record<string, string | readonly string[]>>;
}

/** The smallest part of a statement: it allows one action on one resource. */
export interface Grant {
  readonly action: string;
  readonly resource: string;
  readonly leadingKey?: string | undefined;
  covers(request: AccessRequest): boolean;
}

/** The condition key for the partition keys of a call. */
export const LEADING_KEYS = 'dynamodb:LeadingKeys';
/** The condition key for the top-level attributes that a call names. */
export const ATTRIBUTES = 'dynamodb:Attributes';
const OTHER_KEYS =
  /^(dynamodb:EnclosingOperation|kms:ViaService|kms:EncryptionContext:.+|ses:FromAddress)$/;

type Operator = (values: readonly string[], expected: readonly string[]) => boolean;

const anyIsOneOf: Operator = (values, expected) => values.some((each) => expected.includes(each));
const FOR_ALL_LIKE = 'ForAllValues:StringLike';
const FOR_ALL_EQUAL = 'ForAllValues:StringEquals';
const OPERATORS = new Map<string, Operator>([
  ['Null', (values, [expected]) => String(values.length === 0) === expected],
  ['StringEquals', anyIsOneOf],
  ['ForAnyValue:StringEquals', anyIsOneOf],
  [FOR_ALL_EQUAL, (values, expected) => values.every((each) => expected.includes(each))],
  [
    FOR_ALL_LIKE,
    (values, expected) => values.every((value) => expected.some((each) => isLike(value, each))),
  ],
]);

/** Reads the policies of a role. Throws an error that names the first unsupported feature. */
export const readPolicy = (documents: readonly PolicyDocument[]): Grant[] =>
  documents.flatMap(({ Statement }) =>
    listOf(Statement).flatMap((statement) => readStatement(statement as Record<string, unknown>)),
  );

function readStatement(statement: Record<string, unknown>): Grant[] {
  const { Sid: _, Effect, Action, Resource, Condition = {}, ...others } = statement;
  for (const element of Object.keys(others)) throw unsupported(`${element} in a policy`);
  if (Effect !== 'Allow') throw unsupported(`the effect ${Effect}`);
  const conditions = Object.entries(Condition as Record<string, Record<string, unknown>>).flatMap(
    ([operator, keys]) =>
      Object.entries(keys).map(([key, expected]) => readCondition(operator, key, expected)),
  );
  const leadingKeys = conditions.find(
    ({ operator, key }) => operator === FOR_ALL_LIKE && key === LEADING_KEYS,
  )?.expected;
  return texts(Action).flatMap((action) =>
    (Resource === '*' ? ['*'] : texts(Resource)).flatMap((resource) =>
      (leadingKeys ?? [undefined]).map((leadingKey) => ({
        action,
        resource,
        leadingKey,
        covers: (request: AccessRequest) =>
          action === request.action &&
          ['*', request.resource].includes(resource) &&
          isLike(String(request.context[LEADING_KEYS] ?? ''), leadingKey ?? '*') &&
          conditions.every(({ holds }) => holds(request)),
      })),
    ),
  );
}

function readCondition(operator: string, key: string, value: unknown) {
  const compare = OPERATORS.get(operator);
  if (!compare) throw unsupported(`the condition operator ${operator}`);
  const hasManyValues = [LEADING_KEYS, ATTRIBUTES].includes(key);
  if (!hasManyValues && !OTHER_KEYS.test(key)) throw unsupported(`the condition key ${key}`);
  // IAM's documentation forbids both, and defines no result.
  if (hasManyValues && operator === 'StringEquals')
    throw unsupported(`${operator} without ForAllValues or ForAnyValue on ${key}`);
  if (!hasManyValues && operator === FOR_ALL_EQUAL)
    throw unsupported(`the condition operator ${operator} on ${key}`);
  const expected = texts(value, operator === FOR_ALL_LIKE ? /\$\{|\?|\*./ : undefined);
  const holds = ({ context }: AccessRequest) => compare([context[key] ?? []].flat(), expected);
  return { operator, key, expected, holds };
}

const listOf = (value: unknown): unknown[] => [value ?? []].flat();

/** Throws if a text contains what is not supported in its place: by default any wildcard. */
function texts(value: unknown, rejected = /\$\{|[*?]/): string[] {
  return listOf(value).map((text) => {
    if (typeof text !== 'string') throw unsupported(`${JSON.stringify(text)} in a policy`);
    if (rejected.test(text)) throw unsupported(`the variable or wildcard in ${text}`);
    return text;
  });
}

const unsupported = (feature: string): Error =>
  new Error(`The local cloud does not support ${feature}`);
