import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Mutant } from './mutant.ts';

const ROOT = join(import.meta.dirname, '../..');

/** What became of a mutant; only the first counts as noticed. */
export type Outcome = 'killed' | 'survived' | 'timed out' | 'lost its place';

export interface Trial {
  readonly outcome: Outcome;
  /** The first test that failed, or why there is none. */
  readonly by: string;
}

/** A copy of the working tree in which mutants are planted, one at a time. */
export interface Nursery {
  try(mutant: Mutant): Promise<Trial>;
  remove(): void;
}

/** No test file takes half as long on a busy machine. */
const LONGEST_RUN_MS = 180_000;

export function openNursery(): Nursery {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mutants-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of listed.toString().split('\0')) {
    if (!file || !existsSync(join(ROOT, file))) continue;
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(folder, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));

  return {
    async try({ file, from, to, killedBy }) {
      const path = join(folder, file);
      const source = readFileSync(path, 'utf8');
      if (source.split(from).length !== 2 || from === to) return { outcome: 'lost its place', by: `${file}: ${from}` };
      writeFileSync(
        path,
        source.replace(from, () => to),
      );
      try {
        return await runTests(folder, killedBy);
      } finally {
        writeFileSync(path, source);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface Results {
  readonly testResults: readonly {
    readonly message?: string;
    readonly assertionResults: readonly { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
}

async function runTests(folder: string, files: readonly string[]): Promise<Trial> {
  const report = join(folder, 'results.json');
  rmSync(report, { force: true });
  const run = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', '--reporter=json', `--outputFile=${report}`, ...files],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, LONG: '', VITEST: '', NODE_ENV: '' },
      // A group of its own, so that a test which a mutant keeps in a loop can be ended with its run.
      detached: true,
    },
  );
  let output = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (text) => (output = (output + text).slice(-4000)));
  const end = () => {
    try {
      process.kill(-(run.pid as number), 'SIGKILL');
    } catch {
      // None of the group is left.
    }
  };
  process.on('exit', end);
  const timer = setTimeout(end, LONGEST_RUN_MS);
  const [status] = await once(run, 'exit');
  clearTimeout(timer);
  process.off('exit', end);
  end();
  if (status === 0) return { outcome: 'survived', by: '' };
  if (status === null) return { outcome: 'timed out', by: 'the run' };
  // The synthesis of the stack fails before there is any test.
  if (!existsSync(report)) return { outcome: 'killed', by: output.trim().split('\n').slice(-8).join('\n') };

  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Results;
  const failures = testResults.flatMap(({ message = '', assertionResults }) => [
    ...assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ name: test.fullName, message: (test.failureMessages ?? []).join('\n') })),
    ...(message ? [{ name: 'the file', message }] : []),
  ]);
  const noticed = failures.find(({ message }) => !/timed out|heap out of memory/i.test(message));
  if (noticed) return { outcome: 'killed', by: `${noticed.name}: ${noticed.message.split('\n')[0]}` };
  return failures.length > 0
    ? { outcome: 'timed out', by: failures[0]?.name ?? '' }
    : { outcome: 'killed', by: output.trim().split('\n').slice(-8).join('\n') };
}
