/*
 * IAM's evaluation of identity-based policies. Reading a policy with a feature that the stack does
 * not use throws: a permission evaluated incorrectly would prove nothing.
 */

/** A policy document of a template, after its intrinsic functions are evaluated. */
export interface PolicyDocument {
  readonly Version?: unknown;
  readonly Statement: unknown;
}

/** The request context that a policy is evaluated against. */
export interface AccessRequest {
  readonly action: string;
  readonly resource: string;
  readonly context: Readonly<Record<string, readonly string[]>>;
}

/** The smallest part of a statement. */
export interface Grant {
  readonly action: string;
  readonly resource: string;
  readonly leadingKey?: string | undefined;
}

/** All policies of a role, combined. */
export interface Policy {
  readonly grants: readonly Grant[];
  allows(request: AccessRequest): readonly Grant[] | undefined;
}

/** The condition key for the partition keys of a call. */
export const LEADING_KEYS = 'dynamodb:LeadingKeys';
/** Those that a request has only one value of. */
const SINGLE_VALUED =
  /^(dynamodb:EnclosingOperation|kms:ViaService|kms:EncryptionContext:.+|ses:FromAddress)$/;

type Operator = (values: readonly string[], expected: readonly string[]) => boolean;

const isOneOf: Operator = (values, expected) => values.some((value) => expected.includes(value));
const OPERATORS = new Map<string, Operator>([
  ['Null', (values, [expected]) => String(values.length === 0) === expected],
  ['StringEquals', isOneOf],
  ['ForAnyValue:StringEquals', isOneOf],
  [
    'ForAllValues:StringLike',
    (values, expected) => values.every((value) => expected.some((each) => isLike(value, each))),
  ],
]);

/** Reads the policies of a role. Throws an error that names the first unsupported feature. */
export function readPolicy(documents: readonly PolicyDocument[]): Policy {
  const statements = documents.flatMap(({ Version, Statement }) => {
    if (Version !== '2012-10-17') throw unsupported(`a policy of version ${Version}`);
    return listOf(Statement).map((statement) =>
      readStatement(statement as Record<string, unknown>),
    );
  });
  return {
    grants: statements.flatMap(({ grants }) => grants),
    allows: (request) =>
      statements
        .find(({ matches }) => matches(request))
        ?.grants.filter((grant) => covers(grant, request)),
  };
}

function readStatement(statement: Record<string, unknown>) {
  const { Sid: _, Effect, Action, Resource, Condition = {}, ...others } = statement;
  for (const element of Object.keys(others)) throw unsupported(`${element} in a policy`);
  if (Effect !== 'Allow') throw unsupported(`the effect ${Effect}`);
  const conditions = Object.entries(Condition as Record<string, object>).flatMap(
    ([operator, keys]) =>
      Object.entries(keys).map(([key, expected]) => readCondition(operator, key, expected)),
  );
  const leadingKeys = conditions.find(
    ({ key, operator }) => key === LEADING_KEYS && operator.endsWith('Like'),
  )?.expected ?? [undefined];
  const grants = texts(Action).flatMap((action) =>
    (Resource === '*' ? ['*'] : texts(Resource)).flatMap((resource) =>
      leadingKeys.map((leadingKey): Grant => ({ action, resource, leadingKey })),
    ),
  );
  if (grants.length === 0) throw unsupported('a statement without action or resource');
  return {
    grants,
    matches: (request: AccessRequest) =>
      grants.some((grant) => coversTarget(grant, request)) &&
      conditions.every(({ holds }) => holds(request)),
  };
}

const coversTarget = ({ action, resource }: Grant, request: AccessRequest): boolean =>
  action === request.action && (resource === '*' || resource === request.resource);

const covers = (grant: Grant, request: AccessRequest): boolean =>
  coversTarget(grant, request) &&
  (grant.leadingKey === undefined ||
    (request.context[LEADING_KEYS] ?? []).some((value) => isLike(value, grant.leadingKey ?? '')));

function readCondition(operator: string, key: string, value: unknown) {
  const compare = OPERATORS.get(operator);
  if (!compare) throw unsupported(`the condition operator ${operator}`);
  if (key !== LEADING_KEYS && !SINGLE_VALUED.test(key))
    throw unsupported(`the condition key ${key}`);
  // IAM's documentation forbids this, and defines no result.
  if (key === LEADING_KEYS && operator === 'StringEquals')
    throw unsupported(`${operator} without ForAllValues or ForAnyValue on ${key}`);
  const expected = texts(value, operator.endsWith('Like') ? /\$\{|\?|\*./ : undefined);
  const holds = ({ context }: AccessRequest) => compare(context[key] ?? [], expected);
  return { operator, key, expected, holds };
}

/** Whether an IAM pattern, whose only wildcard is an asterisk at its end, matches a value. */
const isLike = (value: string, pattern: string): boolean =>
  pattern.endsWith('*') ? value.startsWith(pattern.slice(0, -1)) : value === pattern;

const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

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
