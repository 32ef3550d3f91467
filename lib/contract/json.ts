/** Known clients send bodies that are three levels deep. */
const DEPTH_MAX = 32;

/** A string or a structural character (RFC 8259, 2) other than the colon. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/**
 * A callback of JSON.parse with the source text of a number, which the declarations of TypeScript
 * lack.
 */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * Parses a JSON text. Throws if it is invalid or nested too deeply, or if parsers interpret it
 * differently: because of duplicate keys in one object, the key `__proto__`, or a `constructor`
 * with a `prototype`. A number that would be rounded becomes NaN, so that each schema rejects it
 * with the name of its field.
 */
export function parseJson(text: string): unknown {
  const value = parse(text, (key, value, { source }) => {
    if (key === '__proto__' || (key === 'constructor' && Object.hasOwn(Object(value), 'prototype')))
      // Stryker disable next-line StringLiteral: only the type of the error is used
      throw new SyntaxError('The key could change a prototype');
    return typeof value === 'number' && isRounded(value, source as string) ? Number.NaN : value;
  });
  if (isTooDeepOrAmbiguous(text))
    // Stryker disable next-line StringLiteral: only the type of the error is used
    throw new SyntaxError('Nested too deeply, or duplicate keys in one object');
  return value;
}

/**
 * Whether the shortest text of a parsed number denotes another number than its source, as for
 * 9007199254740993.
 */
function isRounded(value: number, source: string): boolean {
  return !Number.isFinite(value) || normalized(String(value)) !== normalized(source);
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/**
 * Sign, significant digits and exponent, which are the same for equal numbers. 1e999999999 is not
 * expanded.
 */
function normalized(number: string): string {
  // Stryker disable next-line StringLiteral,ArrayDeclaration: every number of JSON matches
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  // The lookbehind keeps the search linear: otherwise it would try each zero of a run in turn.
  const significant = digits.replace(/(?<!0)0+$/, '');
  if (significant === '') return significant;
  const power = Number(exponent) - fraction.length + digits.length;
  return `${sign}.${significant}e${power}`;
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
