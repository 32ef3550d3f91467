/*
 * The log is a list of what may be in it: one line of JSON for each request, and one more for what went wrong behind it.
 * Bodies, headers, paths, addresses and items are not on the list.
 */

/** Writes one line. */
export function log(entry: Readonly<Record<string, string | number | undefined>>): void {
  process.stdout.write(`${JSON.stringify(entry)}\n`);
}

/** Writes what an error says of itself. */
export function logError(what: string, error: unknown, context: Readonly<Record<string, string | number>> = {}): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  log({ ...context, [what]: name, message, stack });
}
