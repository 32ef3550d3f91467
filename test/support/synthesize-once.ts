import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { synthesize } from '../../infra/local/synthesize.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder that the stack of this run was synthesized to. */
    assembly: string;
  }
}

/** All tests of a run share one synthesized stack. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const assembly = join(folder, 'assembly');
  await synthesize(assembly);
  project.provide('assembly', assembly);
  return () => rmSync(folder, { recursive: true, force: true });
}
