import type { FieldError } from './api/generated/types.gen.ts';
import type { Problem } from './api/request.ts';
import type { Dictionary } from './languages/en.ts';
import { fill } from './text.ts';

/** The field errors of a problem by the names of the fields that a form shows. */
export function errorsByField(
  { fieldErrors }: Problem,
  shown: ReadonlySet<string>,
): { byField: ReadonlyMap<string, FieldError>; others: readonly FieldError[] } {
  const byField = new Map<string, FieldError>();
  const others: FieldError[] = [];
  for (const error of fieldErrors) {
    const name = fieldOf(error.field);
    if (!shown.has(name)) others.push(error);
    else if (!byField.has(name)) byField.set(name, error);
  }
  return { byField, others };
}

/** `authorities.1` is an error of the field `authorities`. */
const fieldOf = (field: string): string => field.split('.')[0] ?? field;

/** A problem whose message is about one field is shown beside it. */
const FIELD_OF_MESSAGE: Readonly<Record<string, readonly string[]>> = {
  'error.userexists': ['login'],
  'error.emailexists': ['email'],
  'error.confirmationrequired': ['email'],
  'error.commonpassword': ['newPassword', 'password'],
  'error.wrongcode': ['code'],
  'error.identitytaken': ['subject'],
  claims: ['claims'],
  typed: ['typed'],
};

export function fieldOfMessage(
  { message, type }: Problem,
  shown: ReadonlySet<string>,
): string | undefined {
  const isPassword = type?.endsWith('/invalid-password') ?? false;
  const fields = isPassword ? ['currentPassword'] : FIELD_OF_MESSAGE[message];
  return fields?.find((field) => shown.has(field));
}

export function fieldErrorText(error: FieldError, t: Dictionary): string {
  const { message, min, max, unit, allowed } = error;
  if (message !== 'Size') return fill(t.fieldErrors[message], { allowed: allowed?.join(', ') });
  if (unit === 'bytes') return fill(t.sizeBytes, { max });
  if (min !== undefined && max !== undefined) return fill(t.sizeRange, { min, max });
  if (max !== undefined) return fill(t.sizeMax, { max });
  return min === undefined ? t.fieldErrors.Size : fill(t.sizeMin, { min });
}

/** What the service refused, in the user's language. */
export function problemText(problem: Problem, t: Dictionary): string {
  const { message, type, requestId, status } = problem;
  const texts: Readonly<Record<string, string>> = t.errors;
  if (type?.endsWith('/invalid-password')) return t.wrongPassword;
  const known = Object.hasOwn(texts, message) ? texts[message] : undefined;
  const text =
    known ??
    (status >= 500 ? t.errors['error.http.503'] : fill(t.unknownError, { status, message }));
  return requestId ? `${text} ${fill(t.requestId, { requestId })}` : text;
}

/** The values of a form by name; a repeated name makes a list. */
export const textOf = (data: FormData, name: string): string => String(data.get(name) ?? '');

export function editedFields(initial: FormData, current: FormData): ReadonlySet<string> {
  const valuesOf = (data: FormData, name: string): string => JSON.stringify(data.getAll(name));
  const names = [...initial.keys(), ...current.keys()];
  return new Set(names.filter((name) => valuesOf(initial, name) !== valuesOf(current, name)));
}

/**
 * The values of a form, but of fields that nobody has edited what is stored: a field can show
 * something else, such as one line of a text that has two.
 */
export function keepingUnedited<T extends object>(
  values: T,
  stored: Readonly<Record<string, unknown>>,
  edited: ReadonlySet<string>,
): T {
  const kept = Object.keys(values).filter((name) => !edited.has(name));
  return { ...values, ...Object.fromEntries(kept.map((name) => [name, stored[name]])) };
}

/** A name as it is compared and stored: without blanks and line breaks around it. */
export const nameOf = (data: FormData, name: string): string => textOf(data, name).trim();

/** Whether a name was typed. A field of one line shows no line breaks, and nobody sees a blank. */
export const isSameName = (one: string, other: string): boolean =>
  withoutGaps(one) === withoutGaps(other);

const withoutGaps = (text: string): string => text.replace(/\s+/g, '');
