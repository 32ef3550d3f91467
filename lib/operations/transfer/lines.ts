/**
 * Longer than any record: its parameters have 192 KiB, of which JSON can write each byte as six.
 */
const LINE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The lines of a file. Only the beginning of a line that is longer than any record is kept, which
 * is not valid JSON. The readline module would also split at U+2028, which JSON strings can
 * contain.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    if (bytes < LINE_BYTES_MAX) parts.push(part);
    bytes += part.length;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      keep(chunk.subarray(start, end));
      yield Buffer.concat(parts);
      [parts, bytes] = [[], 0];
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }
  yield Buffer.concat(parts);
}
