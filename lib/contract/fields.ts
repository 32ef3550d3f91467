import * as v from 'valibot';

/*
 * Fields that several resources share. The message of a constraint is the code that clients translate. For required
 * values that are missing or null, `lib/http/request.ts` reports NotNull instead.
 */

const UNPAIRED_SURROGATE = 'Pattern';

/** Text, with lengths in UTF-16 code units. Rejects lone surrogates, which storage would replace. */
export function text(shortest: number, longest: number) {
  return v.pipe(
    v.string('TypeMismatch'),
    v.minLength(shortest, shortest === 1 ? 'NotBlank' : 'Size'),
    v.maxLength(longest, 'Size'),
    v.check((value) => value.isWellFormed(), UNPAIRED_SURROGATE),
  );
}

/** Text that is not empty and not only whitespace. */
export function name(longest: number) {
  return v.pipe(
    text(1, longest),
    v.check((value) => value.trim() !== '', 'NotBlank'),
  );
}

/** A line of text without control characters. It may be empty. */
export function line(longest: number) {
  return v.pipe(text(0, longest), v.regex(/^\P{Cc}*$/u, 'Pattern'));
}

/** A description. On update, omitting it keeps the stored value; null or an empty string clears it. */
export const description = v.optional(
  v.pipe(
    v.nullable(text(0, 1000)),
    v.transform((value) => value || null),
  ),
);

const CANONICAL_ID = /^[1-9]\d{0,15}$/;

/** Parses an id from a path; undefined when the text is not a canonical id. */
export function idFromText(value: string): number | undefined {
  return CANONICAL_ID.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
}

/** An id in a body: a safe integer from 1, or its canonical decimal string. "" and null mean no id. */
export const bodyId = v.optional(
  v.pipe(
    v.nullable(v.union([v.number(), v.string()], 'TypeMismatch')),
    v.check((value) => value === null || value === '' || idFromText(String(value)) !== undefined, 'TypeMismatch'),
    v.transform((value) => (value === null || value === '' ? undefined : Number(value))),
  ),
  // Without a default, valibot skips the rest of the pipe when the key is missing.
  null,
);

/** The id that the body of an update must contain. Fails with no-id. */
export const updatedId = v.pipe(
  bodyId,
  v.check((id) => id !== undefined, 'no-id'),
  v.transform((id) => id as number),
);

/** The id that the body of a creation must not contain. Fails with id-not-wanted. */
export const noId = v.pipe(
  bodyId,
  v.check((id) => id === undefined, 'id-not-wanted'),
);

/** The `{id}` of a path. A path without a canonical id names no resource. */
export const idInPath = v.object({
  id: v.pipe(
    v.string(),
    v.check((value) => idFromText(value) !== undefined),
    v.transform(Number),
  ),
});
