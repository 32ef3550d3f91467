/*
 * IAM's evaluation of identity-based policies, limited to the features that the stack uses. Reading
 * a policy with any other feature throws: a permission evaluated incorrectly would prove nothing.
 */

export interface PolicyDocument {
  readonly Version?: unknown;
  readonly Statement: unknown;
}

export interface AccessRequest {
  readonly action: string;
  readonly resource: string;
  readonly context: Readonly<Record<string, readonly string[]>>;
}

/**
 * The smallest part of an Allow statement: one action on one resource, for one partition key if it
 * names any.
 */
export interface Grant {
  readonly action: string;
  readonly resource: string;
  readonly leadingKey?: string | undefined;
}

export interface Policy {
  readonly grants: readonly Grant[];
  allows(request: AccessRequest): readonly Grant[] | undefined;
}

type Test = (value: string) => boolean;
type Values = readonly string[];

const LEADING_KEYS = 'dynamodb:LeadingKeys';

const KEYS: [key: RegExp, isMultivalued: boolean][] = [
  [/^dynamodb:LeadingKeys$/i, true],
  [/^dynamodb:EnclosingOperation$/i, false],
  [/^kms:ViaService$/i, false],
  [/^kms:EncryptionContext:.+$/i, false],
  [/^ses:FromAddress$/i, false],
];

const OPERATORS: Record<string, (pattern: string) => Test> = {
  StringEquals: (expected) => (value) => value === expected,
  StringLike: (pattern) => wildcards(pattern, '[^]'),
};

export function readPolicy(documents: readonly PolicyDocument[]): Policy {
  const statements = documents.flatMap(({ Version, Statement }) => {
    if (Version !== '2012-10-17') throw unsupported(`a policy of version ${Version}`);
    return listOf(Statement).map((statement) =>
      readStatement(statement as Record<string, unknown>),
    );
  });
  const allowing = statements.filter(({ denies }) => !denies);
  const denying = statements.filter(({ denies }) => denies);
  return {
    grants: allowing.flatMap(({ grants }) => grants),
    allows(request) {
      if (denying.some((statement) => statement.matches(request))) return undefined;
      return allowing
        .find((statement) => statement.matches(request))
        ?.grants.filter((grant) => grant.covers(request));
    },
  };
}

function readStatement(statement: Record<string, unknown>) {
  const { Sid: _, Effect, Action, Resource, Condition = {}, ...others } = statement;
  for (const element of Object.keys(others)) throw unsupported(`${element} in a policy`);
  if (Effect !== 'Allow' && Effect !== 'Deny') throw unsupported(`the effect ${Effect}`);
  const actions = texts(Action).map((action) => ({
    action,
    matches: wildcards(action, '[^]', 'i'),
  }));
  const resources = texts(Resource).map((resource) => ({ resource, matches: matchArn(resource) }));
  if (actions.length === 0 || resources.length === 0)
    throw unsupported('a statement without action or resource');

  const conditions: ((request: AccessRequest) => boolean)[] = [];
  let leadingKeys: { leadingKey?: string; matches: Test }[] = [{ matches: () => true }];
  for (const [operator, keys] of Object.entries(Condition as object)) {
    for (const [key, expected] of Object.entries(keys)) {
      const holds = readCondition(operator, key, texts(expected));
      conditions.push(({ context }) => holds(valuesOf(context, key)));
      if (operator !== 'Null' && key.toLowerCase() === LEADING_KEYS.toLowerCase()) {
        const test = OPERATORS[operator.split(':').at(-1) as string] as (pattern: string) => Test;
        leadingKeys = texts(expected).map((leadingKey) => ({
          leadingKey,
          matches: test(leadingKey),
        }));
      }
    }
  }
  return {
    denies: Effect === 'Deny',
    matches: (request: AccessRequest) =>
      actions.some(({ matches }) => matches(request.action)) &&
      resources.some(({ matches }) => matches(request.resource)) &&
      conditions.every((holds) => holds(request)),
    grants: actions.flatMap((allowedAction) =>
      resources.flatMap((allowedResource) =>
        leadingKeys.map(({ leadingKey, matches }) => ({
          action: allowedAction.action,
          resource: allowedResource.resource,
          leadingKey,
          covers: ({ action, resource, context }: AccessRequest) =>
            allowedAction.matches(action) &&
            allowedResource.matches(resource) &&
            (leadingKey === undefined || valuesOf(context, LEADING_KEYS).some(matches)),
        })),
      ),
    ),
  };
}

function readCondition(
  operator: string,
  key: string,
  expected: Values,
): (values: Values) => boolean {
  const [, isMultivalued] = KEYS.find(([name]) => name.test(key)) ?? [];
  if (isMultivalued === undefined) throw unsupported(`the condition key ${key}`);
  if (operator === 'Null') {
    if (expected.length !== 1 || !/^(true|false)$/.test(String(expected[0])))
      throw unsupported(`Null: ${expected}`);
    return (values) => isNull(values) === (expected[0] === 'true');
  }
  const [, set, name = ''] = /^(?:(ForAllValues|ForAnyValue):)?(\w+)$/.exec(operator) ?? [];
  const test = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (!test) throw unsupported(`the condition operator ${operator}`);
  // IAM defines no result for a multivalued key without a set operator; its documentation only
  // forbids it.
  if (isMultivalued && !set)
    throw unsupported(`${operator} without ForAllValues or ForAnyValue on ${key}`);
  const tests = expected.map(test);
  const isExpected = (value: string) => tests.some((matches) => matches(value));
  if (set === 'ForAllValues') return (values) => isNull(values) || values.every(isExpected);
  return (values) => !isNull(values) && values.some(isExpected);
}

/** IAM's Null operator treats a key without values or with only empty values as missing. */
const isNull = (values: Values): boolean => values.every((value) => value === '');

/** Condition keys are case-insensitive. */
function valuesOf(context: AccessRequest['context'], key: string): Values {
  const exact = context[key];
  if (exact) return exact;
  const lowerCased = key.toLowerCase();
  return Object.entries(context).find(([name]) => name.toLowerCase() === lowerCased)?.[1] ?? [];
}

/** An asterisk matches within its ARN segment; at the end of a segment it also matches colons. */
function matchArn(pattern: string): Test {
  if (pattern === '*') return () => true;
  if (!pattern.startsWith('arn:')) throw unsupported(`the resource ${pattern}`);
  const segments = pattern
    .split(':')
    .map((segment) => source(segment, '[^:]').replace(/\[\^:\]\*$/, '[^]*'));
  return matching(new RegExp(`^${segments.join(':')}$`));
}

const wildcards = (pattern: string, any: string, flags = ''): Test =>
  matching(new RegExp(`^${source(pattern, any)}$`, flags));
const matching =
  (expression: RegExp): Test =>
  (value) =>
    expression.test(value);

/**
 * Converts an IAM pattern to a regular expression: `?` matches one character of the class `any`,
 * `*` any number.
 */
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
