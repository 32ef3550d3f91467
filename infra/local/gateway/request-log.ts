import { createWriteStream } from 'node:fs';
import { styleText } from 'node:util';

/** A request as people read it: without the path and the query, which can hold secrets. */
export interface RequestSummary {
  readonly route: string;
  readonly status?: number | undefined;
  readonly milliseconds: number;
  readonly callerId?: number | undefined;
  readonly failure?: string | undefined;
}

/**
 * Prints one line per request, and writes the log of the functions to a file, which each start
 * overwrites. Anything else that a function writes is printed as it is.
 */
export function openRequestLog(print: (line: string) => void, file: string | undefined) {
  const log = file === undefined ? undefined : createWriteStream(file, { mode: 0o600 });
  log?.once('error', ({ message }) => print(`The log of the functions is incomplete: ${message}`));
  return (line: string): void => {
    const entry = entryOf(line);
    if (entry) log?.write(`${line}\n`);
    if (!entry) print(line);
    else if (entry.route) print(requestLine(entry));
  };
}

function entryOf(line: string): RequestSummary | undefined {
  if (!line.startsWith('{"')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** In color on a terminal only. */
export function requestLine(summary: RequestSummary): string {
  const { route, status, milliseconds, callerId, failure } = summary;
  const [method = '', path = ''] = route.split(' ');
  return [
    method.padEnd(6),
    path.padEnd(44),
    styleText(colorOf(status), String(status ?? '---')),
    `${milliseconds} ms`.padStart(8),
    callerId !== undefined && `user ${callerId}`,
    failure,
  ]
    .filter(Boolean)
    .join(' ');
}

function colorOf(status = 500): 'green' | 'yellow' | 'red' {
  if (status >= 500) return 'red';
  return status >= 400 ? 'yellow' : 'green';
}
