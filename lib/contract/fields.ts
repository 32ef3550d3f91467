import * as v from 'valibot';

/**
 * What clients can know about a rule: part of the field error, and of the schemas in openapi.json.
 */
export interface Limits {
  /** The bounds of a number, or of the length of a text in code points or in `unit`. */
  readonly min?: number;
  readonly max?: number;
  /** The length is counted in bytes of UTF-8. */
  readonly unit?: 'bytes';
  /**
   * The only accepted values; for an unknown filter, the fields of the list or the operators of the
   * field.
   */
  readonly allowed?: readonly string[];
  /** A regular expression (ECMA-262) that matches all accepted values. */
  readonly pattern?: string;
  /** What the limits do not tell, in English. */
  readonly reason?: string;
}

/** A check that states its limits. `limitsOf` reads them from the check or its issue. */
export function limited<T>(limits: Limits, holds: (value: T) => boolean, message: string) {
  return v.check<T, string>(
    Object.assign((value: T) => holds(value), { limits }),
    message,
  );
}

type Limited = { readonly limits?: Limits } | null | undefined;

/**
 * The limits of a check; for an issue, the limits of its check or of the end of its path. Undefined
 * if there are none.
 */
export const limitsOf = ({
  requirement,
  path,
}: {
  readonly requirement?: unknown;
  readonly path?: unknown;
}) =>
  (requirement as Limited)?.limits ??
  ((path as readonly unknown[] | undefined)?.at(-1) as Limited)?.limits;

/** A text that matches a regular expression. */
export const matching = (pattern: RegExp) =>
  limited<string>({ pattern: pattern.source }, (value) => pattern.test(value), 'Pattern');

/*
 * Fields that several resources share. The message of a constraint is the code that clients
 * translate. For required values that are missing or null, `lib/http/request.ts` reports NotNull
 * instead.
 */

/** One of the given values. */
export function oneOf<const T extends string>(allowed: readonly T[]) {
  return v.pipe(
    v.string('TypeMismatch'),
    limited({ allowed }, (value) => (allowed as readonly string[]).includes(value), 'Pattern'),
    v.transform((value) => value as T),
  );
}

/** Text of this many code points, which is how JSON Schema counts. */
export function text(min: number, max: number) {
  const limits = { min, max };
  return v.pipe(
    v.string('TypeMismatch'),
    limited(limits, (value) => codePoints(value) >= min, min === 1 ? 'NotBlank' : 'Size'),
    limited(limits, (value) => codePoints(value) <= max, 'Size'),
    wellFormed,
  );
}

/** Rejects lone surrogates, which storage would replace. */
export const wellFormed = v.check<string, string>((value) => value.isWellFormed(), 'Pattern');

/** The length of a text in code points. */
export const codePoints = (value: string): number => [...value].length;

/** Text that is not empty and not only whitespace. */
export function name(max: number) {
  return v.pipe(
    text(1, max),
    limited({ pattern: String.raw`\S` }, (value) => value.trim() !== '', 'NotBlank'),
  );
}

/** A line of text without control characters. */
export function line(min: number, max: number) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: other languages do not know \p{Cc}
  return v.pipe(text(min, max), matching(/^[^\u0000-\u001f\u007f-\u009f]*$/));
}

/**
 * An optional text. On update, omitting it keeps the stored value; null or an empty text clears it.
 * Cleared, it is present but undefined.
 */
export const clearable = (schema: v.GenericSchema<string>) =>
  v.optional(
    v.pipe(
      v.nullable(schema),
      v.transform((value) => value || undefined),
    ),
  );

/**
 * An optional text of a creation or an import, where an empty one means none although the schema
 * rejects it. The schema must not transform the text: valibot would then report a wrong type for
 * each of its errors.
 */
export function optionalText<F extends string | undefined>(
  schema: v.GenericSchema<string>,
  fallback: F,
): v.GenericSchema<string | null | undefined, string | F> {
  const empty = v.pipe(v.literal(''), v.metadata({ type: 'string' }));
  const known = v.union([schema, empty, v.null()], 'TypeMismatch');
  const orFallback = v.transform((value: string | null) => value || fallback);
  return v.optional(v.pipe(known, orFallback), fallback ?? null);
}

/** A description. */
export const description = clearable(text(0, 1000));

const CANONICAL_ID = /^[1-9][0-9]{0,15}$/;

/** Parses an id from a path; undefined when the text is not a canonical id. */
export function idFromText(value: string): number | undefined {
  return CANONICAL_ID.test(value) && Number.isSafeInteger(Number(value))
    ? Number(value)
    : undefined;
}

const ID = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;
// Texts of 16 digits can be too large.
const ID_TEXT = { type: 'string', pattern: '^[1-9][0-9]{0,14}$' } as const;
const NO_ID = [{ type: 'string', const: '' }, { type: 'null' }] as const;

/**
 * An id in a body: a safe integer from 1, or its canonical decimal string. "" and null mean no id.
 */
export const bodyId = v.optional(
  v.pipe(
    v.nullable(v.union([v.number(), v.string()], 'TypeMismatch')),
    limited(
      { min: ID.minimum, max: ID.maximum },
      (value) => value === null || value === '' || idFromText(`${value}`) !== undefined,
      'TypeMismatch',
    ),
    v.transform((value) => (value === null || value === '' ? undefined : Number(value))),
  ),
  // Without a default, valibot skips the rest of the pipe when the key is missing.
  null,
);

/** The JSON Schema of a required id. */
export const requiredId = v.metadata<number | undefined, Record<string, unknown>>({
  anyOf: [ID, ID_TEXT],
});

/** The id that the body of an update must contain. Fails with no-id. */
export const updatedId = v.pipe(
  bodyId,
  requiredId,
  v.check((id) => id !== undefined, 'no-id'),
  v.transform((id) => id as number),
);

/** The id that the body of a creation must not contain. Fails with id-not-wanted. */
export const noId = v.pipe(
  bodyId,
  v.metadata({ anyOf: NO_ID }),
  v.check((id) => id === undefined, 'id-not-wanted'),
);

/** An id in a response. */
export const responseId = v.pipe(v.number(), v.metadata(ID));

/** A time in a response. */
export const responseTime = v.pipe(v.string(), v.isoTimestamp());

/** A count in a response. */
export const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** The `{id}` of a path. A path without a canonical id names no resource. */
export const idInPath = v.object({
  id: v.pipe(
    v.string(),
    v.metadata(ID),
    v.check((value) => idFromText(value) !== undefined),
    v.transform(Number),
  ),
});

/** The `{series}` of a path. A path without a valid series names no session or API token. */
export const seriesInPath = v.object({
  series: v.pipe(v.string(), matching(/^[A-Za-z0-9_-]{1,64}$/)),
});

/*
 * Dates that clients and operators write (ISO 8601, extended format): a day, or a time with an
 * optional fraction and zone, which is Z, +01:00, +0100 or +01. Databases write a space for the T.
 */

const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:(?<=:\d{2}:\d{2})[.,](\d+))?(?:Z|([+-]\d{2})(?::?(\d{2}))?)?)?$/;

/**
 * The instant of a date in UTC, which is the zone by default. Drops what is beyond milliseconds.
 * Undefined if the text is no date, the day does not exist, or its year in UTC does not have four
 * digits, without which dates are not compared correctly as texts.
 */
export function instantOf(text: string): string | undefined {
  const [, day, time = '00:00', fraction, hours, minutes = '00'] = DATE.exec(text) ?? [];
  const midnight = new Date(day as string);
  const zone = hours ? `${hours}:${minutes}` : 'Z';
  const instant = new Date(`${day}T${time}${fraction ? `.${fraction.slice(0, 3)}` : ''}${zone}`);
  if (Number.isNaN(instant.getTime())) return undefined;
  const written = instant.toISOString();
  return midnight.toISOString().startsWith(day as string) && /^\d{4}-/.test(written)
    ? written
    : undefined;
}

/** A time with its zone, without which it would depend on who wrote it. */
export const instant = v.pipe(
  v.string('TypeMismatch'),
  v.metadata({ format: 'date-time' }),
  limited(
    { reason: 'a time that exists, in ISO 8601 with its zone' },
    (text) => /[T ].*[Z+-]/.test(text) && instantOf(text) !== undefined,
    'Pattern',
  ),
);

/*
 * How texts are compared. The forms of both sides are compared, so that `contains` finds what a
 * user would call the same text, whatever keyboard or system has composed it.
 */

/**
 * What shows nothing: blanks, format and control characters (Unicode, UAX #44), and the blank of
 * Braille, which Unicode counts among the symbols.
 */
export const BLANK = /[\p{White_Space}\u2800\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Folds case and compatibility forms (NFKC). Lower, upper and lower case in turn fold characters
 * without a one-to-one case mapping (ß, dotless i, the Kelvin sign); the dotted capital I becomes
 * i, as on Turkish systems. Locale rules are not used because they differ between machines. E-mail
 * addresses are unique by this form: it must not change.
 */
export function fold(text: string): string {
  const folded = text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
  return folded.replaceAll('i\u0307', 'i').normalize('NFKC');
}

/**
 * The form in which lists compare texts when they ignore case. Sigma has one form, also at the end
 * of a word.
 */
export const caseless = (text: string): string => fold(streamSafe(text)).replaceAll('ς', 'σ');

/**
 * The form in which lists compare texts when they respect case: equal for canonically equivalent
 * texts (NFC).
 */
export const canonical = (text: string): string => streamSafe(text).normalize('NFC');

/**
 * Breaks up runs of combining marks, whose normalization takes quadratic time, as the Stream-Safe
 * Text Process of Unicode does (UAX #15, 13.4). The halfwidth sound marks become combining marks in
 * NFKC.
 */
const streamSafe = (text: string): string =>
  text.replaceAll(/[\p{M}\uff9e\uff9f]{30}/gu, '$&\u034f');
