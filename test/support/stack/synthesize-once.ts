import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { LOCAL_ISSUERS } from '../../../infra/settings/read-settings.ts';
import { synthesizeLocal } from '../../../infra/stack/synthesize-app.ts';
import { copyRepository } from '../commands/run-command.ts';
import type { TestProvider } from '../instance/provider.ts';
import { buildRelease } from '../release/release.ts';
import { startProvider } from './start-provider.ts';
import { neverUsed } from './unused-permissions.ts';

declare module 'vitest' {
  interface ProvidedContext {
    assembly: string;
    provider: TestProvider;
    /** A copy of the source, for processes that read settings. */
    repository: string;
  }
}

/** If all tests of the service passed, its functions must have used all their permissions. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const assembly = join(folder, 'assembly');
  const { stop, ...provider } = await startProvider();
  project.provide('provider', provider);
  await synthesizeLocal(assembly, {
    checked: false,
    example: true,
    [LOCAL_ISSUERS]: { issuers: [provider.issuer], moduleIssuers: [provider.moduleIssuer] },
  });
  if (project.name === 'stack') buildRelease();
  project.provide('assembly', assembly);
  const repository = join(folder, 'repository');
  copyRepository(repository);
  project.provide('repository', repository);
  return async () => {
    const unused =
      project.name === 'stack' && (await isWholeSuite(project)) ? neverUsed(assembly) : [];
    stop();
    rmSync(folder, { recursive: true, force: true });
    if (unused.length > 0)
      throw new Error(`No test used these permissions:\n  ${unused.join('\n  ')}`);
  };
}

/** After a filter or a failure, some permissions were not exercised. */
async function isWholeSuite(project: TestProject): Promise<boolean> {
  const files = await project.globTestFiles();
  const modules = project.vitest.state
    .getTestModules()
    .filter((module) => module.project.name === project.name);
  const passed = modules.filter((module) => module.state() === 'passed');
  const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')]);
  return passed.length === files.testFiles.length && skipped.length === 0;
}
