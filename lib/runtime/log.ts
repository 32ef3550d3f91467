/*
 * The log is an allowlist: one line of JSON per request, and one more for an error behind it. Bodies, headers, paths,
 * addresses and items are never logged.
 */

/** Writes one line of JSON to stdout; omits undefined values. */
export function log(entry: Readonly<Record<string, string | number | undefined>>): void {
  process.stdout.write(`${JSON.stringify(entry)}\n`);
}

/**
 * Logs the name, code and stack frames of an error, and the status and request id of an AWS error. The message is never
 * logged, because it can quote parts of an item or a body. `what` becomes the field that holds the name of the error.
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
    at: stackFrames(stack),
  });
}

/** The stack frames that name a line of a file. Other lines can belong to the message and are dropped. */
function stackFrames(stack = ''): string {
  const frames = stack.split('\n').filter((line) => /^ +at .+:\d+:\d+\)?$/.test(line));
  return frames.map((line) => line.trim()).join('\n');
}
