/** How deep a body may be nested; what clients send is three deep. */
const DEEPEST = 32;

/** A string, or one of the characters that give a JSON text its structure. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/**
 * Whether a JSON text is nested too deeply, or names a key twice in one object: such a text means one thing to one parser
 * and another to the next. It must have been parsed before: of what is no JSON this says nothing.
 */
export function isTooDeepOrAmbiguous(json: string): boolean {
  /** The objects and arrays around, from the outside in, each with the keys that it has had so far. */
  const around: { keys: Set<string>; keyIsNext: boolean }[] = [];
  for (const [token] of json.matchAll(TOKEN)) {
    const inner = around.at(-1);
    if (token === '{' || token === '[') {
      around.push({ keys: new Set(), keyIsNext: token === '{' });
      if (around.length > DEEPEST) return true;
    } else if (token === '}' || token === ']') {
      around.pop();
    } else if (token === ',') {
      // An array has no keys, and an object has one by now.
      if (inner) inner.keyIsNext = inner.keys.size > 0;
    } else if (inner?.keyIsNext) {
      // Escapes are another spelling of the same key.
      const key: string = JSON.parse(token);
      if (inner.keys.has(key)) return true;
      inner.keys.add(key);
      inner.keyIsNext = false;
    }
  }
  return false;
}
