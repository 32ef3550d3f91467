/*
 * How IAM evaluates identity-based policies, as far as the stack uses it. What it does not know it refuses when it reads
 * the policy: a right that is judged wrongly proves nothing.
 */

/** A policy as a template has it, its intrinsic functions evaluated. */
export interface PolicyDocument {
  readonly Version?: unknown;
  readonly Statement: unknown;
}

/** One thing that somebody wants to do. */
export interface AccessRequest {
  readonly action: string;
  /** Its ARN. */
  readonly resource: string;
  /** The values of the condition keys. */
  readonly context: Readonly<Record<string, readonly string[]>>;
}

/** The smallest part of an allowing statement: one of its actions on one of its resources, for one of its partition keys. */
export interface Grant {
  readonly action: string;
  readonly resource: string;
  readonly leadingKey?: string | undefined;
}

/** All policies of a role. */
export interface Policy {
  readonly rights: readonly Grant[];
  /** The rights that allow it; undefined when it is denied, or when none allows it. */
  allows(ask: AccessRequest): readonly Grant[] | undefined;
}

interface Statement {
  readonly denies: boolean;
  readonly rights: readonly (Grant & { covers(ask: AccessRequest): boolean })[];
  fits(ask: AccessRequest): boolean;
}

type Test = (value: string) => boolean;
type Values = readonly string[];

const LEADING_KEYS = 'dynamodb:LeadingKeys';

/** The condition keys that the local cloud gives a request, and whether it can have several values of one. */
const KEYS: [key: RegExp, many: boolean][] = [
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

/** Reads the policies of a role. Fails with the name of what it does not know. */
export function readPolicy(documents: readonly PolicyDocument[]): Policy {
  const statements = documents.flatMap(({ Version, Statement }) => {
    if (Version !== '2012-10-17') throw unknown(`a policy of version ${Version}`);
    return listOf(Statement).map((statement) => readStatement(statement as Record<string, unknown>));
  });
  const allowing = statements.filter(({ denies }) => !denies);
  const denying = statements.filter(({ denies }) => denies);
  return {
    rights: allowing.flatMap(({ rights }) => rights),
    allows(ask) {
      if (denying.some((statement) => statement.fits(ask))) return undefined;
      return allowing.find((statement) => statement.fits(ask))?.rights.filter((right) => right.covers(ask));
    },
  };
}

function readStatement(statement: Record<string, unknown>): Statement {
  const { Sid: _, Effect, Action, Resource, Condition = {}, ...others } = statement;
  for (const element of Object.keys(others)) throw unknown(`${element} in a policy`);
  if (Effect !== 'Allow' && Effect !== 'Deny') throw unknown(`the effect ${Effect}`);
  const actions = texts(Action).map((action) => ({ action, matches: wildcards(action, '[^]', 'i') }));
  const resources = texts(Resource).map((resource) => ({ resource, matches: matchArn(resource) }));
  if (actions.length === 0 || resources.length === 0) throw unknown('a statement without action or resource');

  const conditions: ((ask: AccessRequest) => boolean)[] = [];
  let leadingKeys: { leadingKey?: string; matches: Test }[] = [{ matches: () => true }];
  for (const [operator, keys] of Object.entries(Condition as object)) {
    for (const [key, expected] of Object.entries(keys)) {
      const holds = readCondition(operator, key, texts(expected));
      conditions.push(({ context }) => holds(valuesOf(context, key)));
      if (operator !== 'Null' && key.toLowerCase() === LEADING_KEYS.toLowerCase()) {
        const test = OPERATORS[operator.split(':').at(-1) as string] as (pattern: string) => Test;
        leadingKeys = texts(expected).map((leadingKey) => ({ leadingKey, matches: test(leadingKey) }));
      }
    }
  }
  return {
    denies: Effect === 'Deny',
    fits: (ask) =>
      actions.some(({ matches }) => matches(ask.action)) &&
      resources.some(({ matches }) => matches(ask.resource)) &&
      conditions.every((holds) => holds(ask)),
    rights: actions.flatMap((one) =>
      resources.flatMap((on) =>
        leadingKeys.map(({ leadingKey, matches }) => ({
          action: one.action,
          resource: on.resource,
          leadingKey,
          covers: ({ action, resource, context }: AccessRequest) =>
            one.matches(action) &&
            on.matches(resource) &&
            (leadingKey === undefined || valuesOf(context, LEADING_KEYS).some(matches)),
        })),
      ),
    ),
  };
}

/** A condition on one key: the values that it expects are alternatives. */
function readCondition(operator: string, key: string, expected: Values): (values: Values) => boolean {
  const [, many] = KEYS.find(([name]) => name.test(key)) ?? [];
  if (many === undefined) throw unknown(`the condition key ${key}`);
  if (operator === 'Null') {
    if (expected.length !== 1 || !/^(true|false)$/.test(String(expected[0]))) throw unknown(`Null: ${expected}`);
    return (values) => isNull(values) === (expected[0] === 'true');
  }
  const [, set, name = ''] = /^(?:(ForAllValues|ForAnyValue):)?(\w+)$/.exec(operator) ?? [];
  const test = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (!test) throw unknown(`the condition operator ${operator}`);
  // IAM says of several values under a plain operator only that one must not write it.
  if (many && !set) throw unknown(`${operator} without ForAllValues or ForAnyValue on ${key}`);
  const tests = expected.map(test);
  const isExpected = (value: string) => tests.some((matches) => matches(value));
  if (set === 'ForAllValues') return (values) => isNull(values) || values.every(isExpected);
  return (values) => !isNull(values) && values.some(isExpected);
}

/** A key that is missing, or that has nothing in it. */
const isNull = (values: Values): boolean => values.every((value) => value === '');

/** The names of condition keys do not depend on their case. */
function valuesOf(context: AccessRequest['context'], key: string): Values {
  const same = context[key];
  if (same) return same;
  const wanted = key.toLowerCase();
  return Object.entries(context).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? [];
}

/** A star stays within its segment, unless it ends one: then it may go on beyond the colons. */
function matchArn(pattern: string): Test {
  if (pattern === '*') return () => true;
  if (!pattern.startsWith('arn:')) throw unknown(`the resource ${pattern}`);
  const segments = pattern.split(':').map((segment) => source(segment, '[^:]').replace(/\[\^:\]\*$/, '[^]*'));
  return matching(new RegExp(`^${segments.join(':')}$`));
}

const wildcards = (pattern: string, any: string, flags = ''): Test =>
  matching(new RegExp(`^${source(pattern, any)}$`, flags));
const matching =
  (expression: RegExp): Test =>
  (value) =>
    expression.test(value);

/** A pattern as a regular expression, in which a question mark is one of any characters, and a star any number of them. */
const source = (pattern: string, any: string): string =>
  pattern
    .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replaceAll('?', any)
    .replaceAll('*', `${any}*`);

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

function texts(value: unknown): string[] {
  return listOf(value).map((text) => {
    if (typeof text !== 'string') throw unknown(`${JSON.stringify(text)} in a policy`);
    if (/\$\{/.test(text)) throw unknown(`the policy variable in ${text}`);
    return text;
  });
}

const unknown = (what: string): Error => new Error(`The local cloud does not know ${what}`);
