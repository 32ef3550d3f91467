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

/** The smallest part of an Allow statement. */
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

type Test = (value: string) => boolean;
type Context = AccessRequest['context'];

/** The condition key for the partition keys of a call. */
export const LEADING_KEYS = 'dynamodb:LeadingKeys';
const SINGLE_VALUED =
  /^(dynamodb:EnclosingOperation|kms:ViaService|kms:EncryptionContext:.+|ses:FromAddress)$/i;

/** Reads the policies of a role. Throws an error that names the first unsupported feature. */
export function readPolicy(documents: readonly PolicyDocument[]): Policy {
  const statements = documents.flatMap(({ Version, Statement }) => {
    if (Version !== '2012-10-17') throw unsupported(`a policy of version ${Version}`);
    return listOf(Statement).map((statement) =>
      readStatement(statement as Record<string, unknown>),
    );
  });
  const { false: allowing = [], true: denying = [] } = Object.groupBy(statements, ({ denies }) =>
    denies ? 'true' : 'false',
  );
  return {
    grants: allowing.flatMap(({ grants }) => grants),
    allows(request) {
      if (denying.some(({ matches }) => matches(request))) return undefined;
      return allowing
        .find(({ matches }) => matches(request))
        ?.grants.filter(({ covers }) => covers(request));
    },
  };
}

function readStatement(statement: Record<string, unknown>) {
  const { Sid: _, Effect, Action, Resource, Condition = {}, ...others } = statement;
  for (const element of Object.keys(others)) throw unsupported(`${element} in a policy`);
  if (Effect !== 'Allow' && Effect !== 'Deny') throw unsupported(`the effect ${Effect}`);
  const resources = texts(Resource).map((resource) => [resource, matchArn(resource)] as const);
  const targets = texts(Action).flatMap((action) => {
    const matchesAction = wildcards(action, 'i');
    return resources.map(([resource, matchesResource]) => ({
      action,
      resource,
      covers: (request: AccessRequest) =>
        matchesAction(request.action) && matchesResource(request.resource),
    }));
  });
  if (targets.length === 0) throw unsupported('a statement without action or resource');

  const conditions = Object.entries(Condition as object).flatMap(([operator, keys]) =>
    Object.entries(keys).map(([key, expected]) => readCondition(operator, key, texts(expected))),
  );
  const leadingKeys = conditions.flatMap((condition) => condition.leadingKeys ?? []);
  const anyKey = { leadingKey: undefined, isIn: () => true };
  return {
    denies: Effect === 'Deny',
    matches: (request: AccessRequest) =>
      targets.some(({ covers }) => covers(request)) &&
      conditions.every(({ holds }) => holds(request.context)),
    grants: targets.flatMap(({ covers, ...target }) =>
      (leadingKeys.length > 0 ? leadingKeys : [anyKey]).map(({ leadingKey, isIn }) => ({
        ...target,
        leadingKey,
        covers: (request: AccessRequest) => covers(request) && isIn(request.context),
      })),
    ),
  };
}

interface Condition {
  readonly holds: (context: Context) => boolean;
  readonly leadingKeys?: { leadingKey?: string; isIn: Condition['holds'] }[];
}

function readCondition(operator: string, key: string, expected: readonly string[]): Condition {
  const isMultivalued = key.toLowerCase() === LEADING_KEYS.toLowerCase();
  if (!isMultivalued && !SINGLE_VALUED.test(key)) throw unsupported(`the condition key ${key}`);
  if (operator === 'Null') {
    if (!/^(true|false)$/.test(expected.join())) throw unsupported(`Null: ${expected}`);
    return { holds: (context) => isNull(valuesOf(context, key)) === (expected[0] === 'true') };
  }
  const [, set, name] =
    /^(?:(ForAllValues|ForAnyValue):)?(StringEquals|StringLike)$/.exec(operator) ?? [];
  if (!name) throw unsupported(`the condition operator ${operator}`);
  // IAM's documentation forbids this, and defines no result.
  if (isMultivalued && !set)
    throw unsupported(`${operator} without ForAllValues or ForAnyValue on ${key}`);
  const tests = expected.map(
    (text): Test => (name === 'StringLike' ? wildcards(text) : (value) => value === text),
  );
  const isExpected: Test = (value) => tests.some((matches) => matches(value));
  return {
    holds(context) {
      const values = valuesOf(context, key);
      if (isNull(values)) return set === 'ForAllValues';
      return set === 'ForAllValues' ? values.every(isExpected) : values.some(isExpected);
    },
    ...(isMultivalued && {
      leadingKeys: tests.map((matches, index) => ({
        leadingKey: expected[index] as string,
        isIn: (context) => valuesOf(context, key).some(matches),
      })),
    }),
  };
}

/** IAM's Null operator treats a key without values or with only empty values as missing. */
const isNull = (values: readonly string[]): boolean => values.every((value) => value === '');

/** Condition keys are case-insensitive. */
const valuesOf = (context: Context, key: string): readonly string[] =>
  Object.entries(context).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1] ?? [];

/** An asterisk matches within its ARN segment; at the end of a segment it also matches colons. */
function matchArn(pattern: string): Test {
  if (pattern === '*') return () => true;
  if (!pattern.startsWith('arn:')) throw unsupported(`the resource ${pattern}`);
  const segments = pattern
    .split(':')
    .map((segment) => source(segment, '[^:]').replace(/\[\^:\]\*$/, '[^]*'));
  return matching(segments.join(':'));
}

const wildcards = (pattern: string, flags?: string): Test =>
  matching(source(pattern, '[^]'), flags);

function matching(expression: string, flags?: string): Test {
  const whole = new RegExp(`^${expression}$`, flags);
  return (value) => whole.test(value);
}

/** An IAM pattern, in which `?` matches one character of the class `any` and `*` any number. */
const source = (pattern: string, any: string): string =>
  pattern
    .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replaceAll('?', any)
    .replaceAll('*', `${any}*`);

const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

function texts(value: unknown): string[] {
  return listOf(value).map((text) => {
    if (typeof text !== 'string') throw unsupported(`${JSON.stringify(text)} in a policy`);
    if (/\$\{/.test(text)) throw unsupported(`the policy variable in ${text}`);
    return text;
  });
}

const unsupported = (feature: string): Error =>
  new Error(`The local cloud does not support ${feature}`);
