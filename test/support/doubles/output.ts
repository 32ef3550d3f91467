import { beforeEach, vi } from 'vitest';

/** Captures what is printed while `work` runs. */
export async function printedBy(work: () => unknown): Promise<string[]> {
  const printed: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.push(String(text));
    return true;
  });
  try {
    await work();
  } finally {
    write.mockRestore();
  }
  return printed;
}

/** Runs a command in this process, which takes less time than in its own. */
export async function execute(
  command: { execute(args: readonly string[]): Promise<number> },
  args: readonly string[],
  environment: object,
) {
  const output = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      output[stream] += text;
      return true;
    }),
  );
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    const code = await command.execute(args);
    return { code, ...output };
  } finally {
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
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
