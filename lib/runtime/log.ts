/*
 * The log is a list of what may be in it: one line of JSON for each request, and one more for what went wrong behind it.
 * Bodies, headers, paths, addresses and items are not on the list.
 */

/** Writes one line. */
export function log(entry: Readonly<Record<string, string | number | undefined>>): void {
  process.stdout.write(`${JSON.stringify(entry)}\n`);
}

/**
 * Writes what kind of error it is and where it was thrown; of an AWS error the id by which AWS knows the request. Not its
 * message: that can quote what it stumbled over, an item, a body or a part of either.
 */
export function logError(what: string, error: unknown, context: Readonly<Record<string, string | number>> = {}): void {
  const { name, code, stack, $metadata } = (error instanceof Error ? error : new Error()) as Error & {
    code?: unknown;
    $metadata?: { httpStatusCode?: number; requestId?: string };
  };
  log({
    ...context,
    [what]: name,
    code: typeof code === 'string' ? code : undefined,
    awsStatus: $metadata?.httpStatusCode,
    awsRequestId: $metadata?.requestId,
    at: placesIn(stack),
  });
}

/** The lines of a stack that name a place in a file, and none that belongs to the message above them. */
function placesIn(stack = ''): string {
  const places = stack.split('\n').filter((line) => /^ +at .+:\d+:\d+\)?$/.test(line));
  return places.map((line) => line.trim()).join('\n');
}
