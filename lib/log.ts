/*
 * The log is a list of what may be in it: one line of JSON for each request, and one more for what went wrong behind it.
 * Bodies, headers, paths, addresses and items are not on the list.
 */

/** Writes one line. */
export function log(entry: Readonly<Record<string, string | number | undefined>>): void {
  process.stdout.write(`${JSON.stringify(entry)}\n`);
}

/**
 * Writes what an error says of itself. The message of an AWS error can name an address or quote an item: of those, the
 * name and the id by which AWS knows the request must do.
 */
export function logError(what: string, error: unknown, context: Readonly<Record<string, string | number>> = {}): void {
  const { name, message, stack, $metadata } = (error instanceof Error ? error : new Error(String(error))) as Error & {
    $metadata?: { httpStatusCode?: number; requestId?: string };
  };
  if ($metadata)
    log({ ...context, [what]: name, awsStatus: $metadata.httpStatusCode, awsRequestId: $metadata.requestId });
  else log({ ...context, [what]: name, message, stack });
}
