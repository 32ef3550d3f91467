import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { contentOf } from '../state/files.ts';

const ROOT = join(import.meta.dirname, '../../..');

const BUNDLE_POSITION = /(file:\/\/\/\S+\.mjs):(\d+):(\d+)/;
const OWN_FRAME = /\bat ((?:functions|lib)\/[^:\s]+):(\d+):(\d+)$/;

/** An error of a function with the positions of its source, followed by the line that threw it. */
export function readableError(error: string): string {
  const lines = error.split('\n').filter(isOfInterest).map(withSourcePosition);
  const [, file, line, column] =
    lines.map((each) => OWN_FRAME.exec(each)).find((found) => found !== null) ?? [];
  return [...lines, ...(file ? excerpt(file, Number(line), Number(column)) : [])].join('\n');
}

/** Frames of Node.js and of the runtime are the same in every stack. */
const isOfInterest = (line: string): boolean =>
  !/^\s*at .*\(?(node:|function-worker\.mjs)/.test(line);

/** Omits the minified name. The map is read each time: the bundle may have changed. */
function withSourcePosition(frame: string): string {
  const [, bundle, line, column] = BUNDLE_POSITION.exec(frame) ?? [];
  const map = /^\s*at /.test(frame) && bundle && contentOf(new URL(`${bundle}.map`));
  if (!map) return frame;
  const origin = new SourceMap(JSON.parse(map)).findOrigin(Number(line), Number(column));
  if (!('fileName' in origin)) return frame;
  const rest = /[^)\d]*$/.exec(frame)?.[0] ?? '';
  return `    at ${origin.fileName}:${origin.lineNumber}:${origin.columnNumber}${rest}`;
}

function excerpt(file: string, line: number, column: number): string[] {
  const text = contentOf(join(ROOT, file))?.split('\n')[line - 1];
  if (text === undefined) return [];
  return ['', `${file}:${line}`, text, `${' '.repeat(column - 1)}^`];
}
