import { isObject, payloadOf } from './session.ts';

/** What a log-in is tried with: the claims of a token, or the groups alone. */
export type Tried =
  | { readonly claims: Readonly<Record<string, unknown>> }
  | { readonly groups: string[] };

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Reads claims as JSON, a token, or groups: a list in JSON or one on each line. Undefined for a
 * text that looks like JSON or a token but cannot be read as one.
 */
export function triedOf(text: string): Tried | undefined {
  const trimmed = text.trim();
  if (TOKEN.test(trimmed)) {
    const claims = payloadOf(trimmed);
    return claims && { claims };
  }
  if (!/^[[{"]/.test(trimmed)) {
    const groups = trimmed.split('\n').map((line) => line.trim());
    return { groups: groups.filter((line) => line !== '') };
  }
  return triedIn(parsed(trimmed));
}

function triedIn(value: unknown): Tried | undefined {
  if (isObject(value)) return { claims: value };
  const isList = Array.isArray(value) && value.every((group) => typeof group === 'string');
  return isList ? { groups: value } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
