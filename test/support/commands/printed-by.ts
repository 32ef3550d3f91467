import { vi } from 'vitest';

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
