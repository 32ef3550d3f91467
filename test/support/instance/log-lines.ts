import { afterEach, beforeEach, vi } from 'vitest';

/** Captures the log lines of the tests of a block instead of printing them. */
export function useLogLines(): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const print = process.stdout.write.bind(process.stdout);
  beforeEach(() => {
    lines.length = 0;
    vi.spyOn(process.stdout, 'write').mockImplementation((text, ...more) => {
      if (!String(text).startsWith('{')) return print(text, ...(more as []));
      lines.push(JSON.parse(String(text)));
      return true;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  return lines;
}
