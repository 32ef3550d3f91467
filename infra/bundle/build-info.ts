import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Build } from '../../lib/status/info.ts';
import project from '../../package.json' with { type: 'json' };

const { version } = project;
const ROOT = join(import.meta.dirname, '../..');

/** The release of this source, and its commit if this folder is a clone. */
export function buildInfo(): Build {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', ROOT, ...args], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    // The folder may be part of another repository, whose commits say nothing about it.
    if (git('rev-parse', '--show-toplevel') !== realpathSync(ROOT)) return { version };
    return {
      version,
      commit: git('describe', '--always', '--exclude=*', '--dirty', '--abbrev=40'),
      time: git('log', '-1', '--format=%cd', '--date=format-local:%Y-%m-%dT%H:%M:%SZ'),
    };
  } catch {
    // There is no git, or no repository.
    return { version };
  }
}
