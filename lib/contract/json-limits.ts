/** Known clients send bodies that are three levels deep. */
const DEPTH_MAX = 32;

/** A string or a structural character (RFC 8259, 2) other than the colon. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/**
 * Whether a JSON text is nested too deeply or has duplicate keys in one object, which parsers interpret differently.
 * The text must already have been parsed successfully: for invalid JSON, the result is meaningless.
 */
export function isTooDeepOrAmbiguous(json: string): boolean {
  /** The enclosing objects and arrays, outermost first, each with the keys read so far. */
  const enclosing: { keys: Set<string>; keyIsNext: boolean }[] = [];
  for (const [token] of json.matchAll(TOKEN)) {
    const inner = enclosing.at(-1);
    if (token === '{' || token === '[') {
      enclosing.push({ keys: new Set(), keyIsNext: token === '{' });
      if (enclosing.length > DEPTH_MAX) return true;
    } else if (token === '}' || token === ']') {
      enclosing.pop();
    } else if (token === ',') {
      // Only an object has keys at this point, because a comma follows its first member.
      if (inner) inner.keyIsNext = inner.keys.size > 0;
    } else if (inner?.keyIsNext) {
      // Unescaped first: the same key can be spelled with different escapes.
      const key: string = JSON.parse(token);
      if (inner.keys.has(key)) return true;
      inner.keys.add(key);
      inner.keyIsNext = false;
    }
  }
  return false;
}
