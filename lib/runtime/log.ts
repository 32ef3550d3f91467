import { channel } from 'node:diagnostics_channel';
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/*
 * The log is an allowlist: one line of JSON per request, and one more for an error behind it.
 * Bodies, headers, paths and items are never logged, and the address of a client only behind an
 * edge. If the settings say so, entries of the audit trail have a log of their own
 * (lib/stream/log-audit.ts).
 */

type Entry = Readonly<
  Record<string, string | number | readonly (string | object)[] | null | undefined>
>;

/**
 * A field of a log line that CloudWatch records as a metric, once for each list in `dimensions`.
 */
export interface Metric {
  readonly field: string;
  readonly unit: 'Count' | 'Milliseconds' | 'Seconds';
  /**
   * Every combination of their values is billed as a metric; the empty list counts without
   * dimensions.
   */
  readonly dimensions: readonly (readonly string[])[];
}

/**
 * Writes one line of JSON to stdout; omits undefined values. The version tells the lines of former
 * and new code apart while a canary runs; only Lambda sets it.
 */
export function log(entry: Entry, ...metrics: readonly Metric[]): void {
  const { AWS_LAMBDA_FUNCTION_VERSION: version } = process.env;
  process.stdout.write(`${JSON.stringify({ ...entry, version, ...embedded(metrics) })}\n`);
}

/**
 * The member of a line that makes CloudWatch Logs extract metrics from it (embedded metric format).
 * Absent without a namespace, which only the stack sets.
 */
function embedded(metrics: readonly Metric[]) {
  const { METRICS_NAMESPACE: Namespace } = process.env;
  if (!Namespace || metrics.length === 0) return undefined;
  const CloudWatchMetrics = metrics.map(({ field: Name, unit: Unit, dimensions: Dimensions }) => ({
    Namespace,
    Dimensions,
    Metrics: [{ Name, Unit }],
  }));
  return { _aws: { Timestamp: Date.now(), CloudWatchMetrics } };
}

/**
 * Receives each logged error complete with its message. Only the local cloud subscribes, to print
 * it.
 */
const loggedErrors = channel('gatehouse:error');

/**
 * Logs the name, code and stack frames of an error, and the status and request id of an AWS error.
 * The message is never logged, because it can quote parts of an item or a body. `what` becomes the
 * field that holds the name of the error.
 */
export function logError(
  what: string,
  error: unknown,
  context: Entry = {},
  ...metrics: readonly Metric[]
): void {
  loggedErrors.publish(error);
  const { name, code, stack, $metadata } = (
    error instanceof Error ? error : new Error()
  ) as Error & {
    code?: unknown;
    $metadata?: { httpStatusCode?: number; requestId?: string };
  };
  log(
    {
      ...context,
      [what]: name,
      code: typeof code === 'string' ? code : undefined,
      awsStatus: $metadata?.httpStatusCode,
      awsRequestId: $metadata?.requestId,
      at: stack && stackFrames(stack),
    },
    ...metrics,
  );
}

/**
 * The stack frames that name a line of a file. Other lines can belong to the message and are
 * dropped.
 */
function stackFrames(stack: string): string {
  const frames = stack.split('\n').filter((line) => /^ +at .+:\d+:\d+\)?$/.test(line));
  return frames.map((line) => sourceFrame(line.trim())).join('\n');
}

/** The source maps by bundle. Each is parsed once, because an error has many frames. */
const sourceMaps = new Map<string, SourceMap>();

/**
 * Replaces a position in a minified bundle by the one in its source. Read only for an error: with
 * `--enable-source-maps`, every cold start would parse the source map.
 */
function sourceFrame(frame: string): string {
  const position = /(?<bundle>file:\/\/\/\S+\.mjs):(?<line>\d+):(?<column>\d+)/.exec(frame);
  const { bundle, line, column } = position?.groups ?? {};
  if (!bundle || !existsSync(new URL(`${bundle}.map`))) return frame;
  const map =
    sourceMaps.get(bundle) ??
    new SourceMap(JSON.parse(readFileSync(new URL(`${bundle}.map`)).toString()));
  sourceMaps.set(bundle, map);
  const origin = map.findOrigin(Number(line), Number(column));
  return 'fileName' in origin
    ? `at ${origin.fileName}:${origin.lineNumber}:${origin.columnNumber}`
    : frame;
}
