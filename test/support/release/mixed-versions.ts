import { printError } from '../../../infra/commands/command-line.ts';
import { type Cloud, startCloud } from '../../../infra/local/cloud.ts';
import type { CloudOptions } from '../../../infra/local/running-stack.ts';
import { seed } from '../instance/run-variables.ts';
import { RELEASE_COMMIT, releasedAssembly } from './release.ts';

/**
 * The assembly of the release whose functions serve half of the requests of tests: `npm run
 * test:mixed` sets it to the last one. Tests of what that release lacks do not run then, until
 * another commit is named; nor do those that count the calls of single function instances.
 */
export const RELEASE = process.env.RELEASE ? releasedAssembly('dev') : undefined;
if (RELEASE) printError(`Half of the requests go to ${RELEASE_COMMIT}; SEED=${seed} decides which`);

/**
 * Starts the functions of a release on the table and the keys of a running stack, as they run
 * beside new ones during a canary.
 */
export function startRelease(
  assembly: string,
  beside: Cloud,
  options: Omit<CloudOptions, 'assembly' | 'beside' | 'port'>,
): Promise<Cloud> {
  // The folder of the present stack, which ends last, keeps the state.
  const state = { ...options.state, close: () => undefined };
  return startCloud({ ...options, state, assembly, beside, port: 0 });
}
