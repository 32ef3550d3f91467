import * as v from 'valibot';

/*
 * The fields that several resources share. The message of a constraint is the code that clients translate; what is
 * missing or null where a value must stand is reported as NotNull by `lib/http/request.ts`.
 */

const UNPAIRED_SURROGATE = 'Pattern';

/** Text that survives storage: a lone surrogate would come back as another character. Lengths are UTF-16 code units. */
export function text(shortest: number, longest: number) {
  return v.pipe(
    v.string('TypeMismatch'),
    v.minLength(shortest, shortest === 1 ? 'NotBlank' : 'Size'),
    v.maxLength(longest, 'Size'),
    v.check((value) => value.isWellFormed(), UNPAIRED_SURROGATE),
  );
}

/** Text that says something: not empty, not only blanks. */
export function name(longest: number) {
  return v.pipe(
    text(1, longest),
    v.check((value) => value.trim() !== '', 'NotBlank'),
  );
}

/** A line of text without control characters, which may be empty. */
export function line(longest: number) {
  return v.pipe(text(0, longest), v.regex(/^\P{Cc}*$/u, 'Pattern'));
}

/** A description: left out it stays as it is, null or empty clears it. */
export const description = v.optional(
  v.pipe(
    v.nullable(text(0, 1000)),
    v.transform((value) => value || null),
  ),
);

const CANONICAL_ID = /^[1-9]\d{0,15}$/;

/** An id as a path carries it; undefined when it can be none. */
export function idFromText(value: string): number | undefined {
  return CANONICAL_ID.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
}

/** An id as clients send it in a body: a safe integer from 1 or its canonical decimal string; "" and null mean none. */
export const bodyId = v.optional(
  v.pipe(
    v.nullable(v.union([v.number(), v.string()], 'TypeMismatch')),
    v.check((value) => value === null || value === '' || idFromText(String(value)) !== undefined, 'TypeMismatch'),
    v.transform((value) => (value === null || value === '' ? undefined : Number(value))),
  ),
  // A default, or valibot would pass over a missing key without asking the rest of the pipe.
  null,
);

/** The id that an update must name. */
export const updatedId = v.pipe(
  bodyId,
  v.check((id) => id !== undefined, 'no-id'),
  v.transform((id) => id as number),
);

/** The id that a create must not name. */
export const noId = v.pipe(
  bodyId,
  v.check((id) => id === undefined, 'id-not-wanted'),
);

/** The `{id}` of a path. What cannot be an id becomes 0, which nothing has: 404 in its turn, after 403. */
export const idInPath = v.object({
  id: v.pipe(
    v.string(),
    v.transform((value) => idFromText(value) ?? 0),
  ),
});
