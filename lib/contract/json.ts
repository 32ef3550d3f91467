import { Failure } from './failure.ts';

/** Known clients send bodies that are three levels deep. */
const DEPTH_MAX = 32;

/** A string or a structural character (RFC 8259, 2) other than the colon. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/** A string, or a number (RFC 8259, 6). */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses a JSON text as `unambiguousJson` does, and throws if a key could change a prototype. */
export function parseJson(text: string): unknown {
  return JSON.parse(unambiguousJson(text), (key, value) => {
    if (key === '__proto__' || (key === 'constructor' && Object.hasOwn(Object(value), 'prototype')))
      throw new SyntaxError('The key could change a prototype');
    return reviveNumber(key, value);
  });
}

/**
 * A JSON text with the same value for every parser. Throws if it is invalid or nested too deeply,
 * or has duplicate keys in one object. `reviveNumber` recognizes the numbers that would be rounded.
 */
export function unambiguousJson(text: string): string {
  // First: only in a valid text, where every string ends, do the searches below take linear time.
  JSON.parse(text);
  if (isTooDeepOrAmbiguous(text))
    throw new SyntaxError('Nested too deeply, or duplicate keys in one object');
  return text.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || !isRounded(Number(token), token) ? token : '1e999',
  );
}

/**
 * A number that was rounded becomes NaN, so that each schema rejects it with the name of its field.
 */
export const reviveNumber = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? Number.NaN : value;

/**
 * Whether the shortest text of a parsed number denotes another number than its source, as for
 * 9007199254740993. Their digits tell: rounding never changes only the position of the point.
 */
function isRounded(value: number, source: string): boolean {
  return !Number.isFinite(value) || digitsOf(String(value)) !== digitsOf(source);
}

/** The digits of a number without leading and trailing zeros. */
function digitsOf(number: string): string {
  const digits = number.replace(/e.*/i, '').replace(/[-.]/g, '').replace(/^0+/, '');
  // The lookbehind keeps the search linear: otherwise it would try each zero of a run in turn.
  return digits.replace(/(?<!0)0+$/, '');
}

/** Whether a valid JSON text is nested too deeply or has duplicate keys in one object. */
function isTooDeepOrAmbiguous(json: string): boolean {
  /** The keys read so far of the enclosing objects and arrays, outermost first. */
  const enclosing: Set<string>[] = [];
  let previous: string | undefined;
  for (const [token] of json.matchAll(TOKEN)) {
    const keys = enclosing.at(-1) as Set<string>;
    if (token === '{' || token === '[') {
      enclosing.push(new Set());
      if (enclosing.length > DEPTH_MAX) return true;
    } else if (token === '}' || token === ']') {
      enclosing.pop();
    } else if (previous === '{' || (previous === ',' && keys.size > 0)) {
      // A key, because after a comma only an object already has one. Unescaped first: the same key
      // can be spelled with different escapes.
      const key: string = JSON.parse(token);
      if (keys.has(key)) return true;
      keys.add(key);
    }
    previous = token;
  }
  return false;
}

/** Well below Lambda's response limit of 6 MB. */
const RESPONSE_BYTES_MAX = 5 * 1024 * 1024;

/** The body, unless Lambda could not return it: then it fails with this code. */
export function requireReturnable(body: string, code: 'page-too-large' | 'plan-too-large'): string {
  // Lambda returns the body as a JSON string, so its quotes are escaped a second time.
  if (Buffer.byteLength(JSON.stringify(body)) > RESPONSE_BYTES_MAX) throw new Failure(code);
  return body;
}
