import * as v from 'valibot';

interface Metadata {
  readonly unit?: string;
  /** A value for docs/settings.md, if the example of `prod` has none. */
  readonly example?: unknown;
}

/** A setting with its meaning, of which docs/settings.md is made. */
export const setting = <S extends v.GenericSchema>(
  meaning: string,
  schema: S,
  metadata: Metadata = {},
) => v.pipe(schema, v.description(meaning), v.metadata({ ...metadata }));

export const flag = (meaning: string, byDefault: boolean) =>
  v.optional(setting(meaning, v.boolean(), { example: !byDefault }), byDefault);

/** A text that matches a pattern; `mistake` explains which texts do. */
export const matching = (pattern: RegExp, mistake: string) =>
  v.pipe(v.string(), v.regex(pattern, mistake));

export const count = (unit: string, meaning: string) =>
  setting(meaning, v.pipe(v.number(), v.integer(), v.minValue(1)), { unit });

/** An upper bound with its reason: a value above it is a mistake, or bounds nothing. */
export const atMost = (max: number, reason: string) =>
  v.maxValue<number, number, string>(max, `must not exceed ${max.toLocaleString('en')}, ${reason}`);

/** Rejects a list with two entries of the same text. */
export const unrepeated = <T>(noun: string, textOf: (entry: T) => string) =>
  v.check<T[], string>(
    (list) => new Set(list.map(textOf)).size === list.length,
    `Each ${noun} must be listed only once`,
  );

/** A list of texts in which none is repeated. */
export const distinct = <T extends string>(noun: string, text: v.GenericSchema<string, T>) =>
  v.pipe(
    v.array(text),
    v.minLength(1),
    unrepeated(noun, (each) => each),
  );

export const isHttpUrl = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? '');

type Noun = 'setting' | 'text';

/** The content of a file. Throws a single error that lists all violations of the schema. */
export function parse<S extends v.GenericSchema>(
  noun: Noun,
  file: string,
  schema: S,
  content: unknown,
): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, content, { abortPipeEarly: true });
  if (success) return output;
  throw invalid(
    noun,
    file,
    issues.map((issue) => violationOf(noun, issue)),
  );
}

export const invalid = (noun: Noun, file: string, violations: readonly string[]) =>
  new Error(`The ${noun}s in ${file} are invalid. ${violations.join('; ')}.`);

function violationOf(noun: Noun, issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  if (issue.expected === 'never') return `${path}: unknown ${noun}`;
  if (issue.received === 'undefined') return `${path}: missing`;
  const isText = typeof issue.input === 'string' && issue.message.startsWith('must ');
  return `${path}: ${issue.message}${isText ? `, but is ${issue.received}` : ''}`;
}
