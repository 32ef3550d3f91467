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

/** The outcome of a mutant. Only `killed` means that the tests detect it. */
type Outcome = 'killed' | 'survived' | 'timed out' | 'does not apply';

interface Trial {
  readonly outcome: Outcome;
  /** The first failed test, or the reason why there is none. */
  readonly detail: string;
}

/** A copy of the working tree that contains one mutant at a time. */
interface Sandbox {
  try(mutant: Mutant): Promise<Trial>;
  remove(): void;
}

/** More than twice as long as any test file takes on a busy machine. */
const RUN_TIMEOUT_MS = 180_000;

export function openSandbox(): Sandbox {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mutants-'));
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: ROOT },
  );
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
      if (source.split(from).length !== 2 || from === to)
        return { outcome: 'does not apply', detail: `${file}: ${from}` };
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
    readonly assertionResults: readonly {
      status: string;
      fullName: string;
      failureMessages?: string[];
    }[];
  }[];
}

async function runTests(folder: string, files: readonly string[]): Promise<Trial> {
  const report = join(folder, 'results.json');
  rmSync(report, { force: true });
  const run = spawn(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--bail=1',
      '--reporter=json',
      `--outputFile=${report}`,
      ...files,
    ],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, LONG: '', VITEST: '', NODE_ENV: '' },
      // Its own process group, so that a test in an endless loop can be killed together with its
      // run.
      detached: true,
    },
  );
  let output = '';
  for (const stream of [run.stdout, run.stderr])
    stream.on('data', (text) => (output = (output + text).slice(-4000)));
  const end = () => {
    try {
      process.kill(-(run.pid as number), 'SIGKILL');
    } catch {
      // The process group has already ended.
    }
  };
  process.on('exit', end);
  const timer = setTimeout(end, RUN_TIMEOUT_MS);
  const [status] = await once(run, 'exit');
  clearTimeout(timer);
  process.off('exit', end);
  end();
  if (status === 0) return { outcome: 'survived', detail: '' };
  if (status === null) return { outcome: 'timed out', detail: 'the test run' };
  // There is no report if the synthesis of the stack failed before any test ran.
  if (!existsSync(report))
    return { outcome: 'killed', detail: output.trim().split('\n').slice(-8).join('\n') };

  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Results;
  const failures = testResults.flatMap(({ message = '', assertionResults }) => [
    ...assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ name: test.fullName, message: (test.failureMessages ?? []).join('\n') })),
    ...(message ? [{ name: 'the file', message }] : []),
  ]);
  const detected = failures.find(({ message }) => !/timed out|heap out of memory/i.test(message));
  if (detected)
    return { outcome: 'killed', detail: `${detected.name}: ${detected.message.split('\n')[0]}` };
  return failures.length > 0
    ? { outcome: 'timed out', detail: failures[0]?.name ?? '' }
    : { outcome: 'killed', detail: output.trim().split('\n').slice(-8).join('\n') };
}
