import { beforeEach, vi } from 'vitest';

/** Captures what is printed while `work` runs, with its result. */
async function captured<T>(work: () => T) {
  const printed = { stdout: [] as string[], stderr: [] as string[] };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      printed[stream].push(String(text));
      return true;
    }),
  );
  try {
    return { ...printed, result: await work() };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

export const printedBy = async (work: () => unknown): Promise<string[]> =>
  (await captured(work)).stdout;

/** Runs a command in this process, which takes less time than in its own. */
export async function execute(
  command: { execute(args: readonly string[]): Promise<number> },
  args: readonly string[],
  environment: object,
) {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const ended = captured(() => command.execute(args));
  const { result: code, stdout, stderr } = await ended.finally(() => vi.unstubAllEnvs());
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

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
  return lines;
}
