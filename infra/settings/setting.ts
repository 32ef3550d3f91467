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

/** A choice between yes and no. */
export const flag = (meaning: string, byDefault: boolean) =>
  v.optional(setting(meaning, v.boolean(), { example: !byDefault }), byDefault);

/** A text that matches a pattern; `mistake` explains which texts do. */
export const matching = (pattern: RegExp, mistake: string) =>
  v.pipe(v.string(), v.regex(pattern, mistake));

/** A whole number of something. */
export const count = (unit: string, meaning: string) =>
  setting(meaning, v.pipe(v.number(), v.integer(), v.minValue(1)), { unit });

/** An upper bound with its reason: a value above it is a mistake, or bounds nothing. */
export const atMost = (max: number, reason: string) =>
  v.maxValue<number, number, string>(max, `must not exceed ${max.toLocaleString('en')}, ${reason}`);

/** A list of texts in which none is repeated. */
export const distinct = <T extends string>(noun: string, text: v.GenericSchema<string, T>) =>
  v.pipe(
    v.array(text),
    v.minLength(1),
    v.check((list) => new Set(list).size === list.length, `Each ${noun} must be listed only once`),
  );

/** Whether a text is an absolute URL of HTTP or HTTPS. */
export const isHttpUrl = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? '');
