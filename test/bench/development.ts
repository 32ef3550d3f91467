import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { synthesize } from '../../infra/local/stack/synthesize.ts';
import { copyRepository } from '../support/commands/copy-repository.ts';
import { endWithThis } from './children.ts';
import { cpuMsOfEndedChildren } from './process-tree.ts';
import { median } from './statistics.ts';
import { digits, table } from './tables.ts';

interface Start {
  readonly readyMs: number;
  readonly reloadMs: readonly number[];
}

/**
 * Measures what a developer waits for. Each start is followed by a reload; the first is not
 * measured.
 */
export async function measureDevelopment(repetitions: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  copyRepository(folder);
  const syntheses: { ms: number; cpuMs: number }[] = [];
  const starts: Start[] = [];
  for (let repetition = 0; repetition <= repetitions; repetition++) {
    process.stderr.write(`development: ${repetition} of ${repetitions}\n`);
    const [synthesis, start] = [
      await measureSynthesis(join(folder, 'assembly')),
      await measureStart(folder),
    ];
    if (repetition === 0) continue;
    syntheses.push(synthesis);
    starts.push(start);
  }
  remove();
  const row = (title: string, ms: readonly number[], cpuMs: readonly number[] = [Number.NaN]) => [
    title,
    digits(median(ms) / 1000),
    digits(median(cpuMs) / 1000),
  ];
  return table(
    ['', 'seconds', 'CPU seconds'],
    [
      row(
        'synthesis of the stack with all bundles',
        syntheses.map(({ ms }) => ms),
        syntheses.map(({ cpuMs }) => cpuMs),
      ),
      row(
        '`npm start`, until it is ready',
        starts.map(({ readyMs }) => readyMs),
      ),
      row(
        'from a change of the source to the end of the reload',
        starts.flatMap(({ reloadMs }) => reloadMs),
      ),
    ],
  );
}

async function measureSynthesis(assembly: string): Promise<{ ms: number; cpuMs: number }> {
  const [started, cpuMs] = [performance.now(), cpuMsOfEndedChildren()];
  await synthesize(assembly, { checked: false, example: true });
  return { ms: performance.now() - started, cpuMs: cpuMsOfEndedChildren() - cpuMs };
}

const RELOADS = 3;

async function measureStart(root: string): Promise<Start> {
  const started = performance.now();
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: { ...process.env, PORT: '0', STATE_DIR: ':memory:' },
    stdio: ['ignore', 'pipe', 'inherit'],
    // npm does not forward SIGTERM, so the whole group is ended.
    detached: true,
  });
  endWithThis(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const printed = async (text: string): Promise<void> => {
    for (let line = ''; !line.includes(text); ) {
      const next = await lines.next();
      if (next.done) throw new Error(`npm start has ended before it printed ${text}`);
      line = next.value;
    }
  };
  await printed('Gatehouse is ready at ');
  const readyMs = performance.now() - started;
  const reloadMs: number[] = [];
  for (let reload = 0; reload < RELOADS; reload++) {
    const changed = performance.now();
    appendFileSync(join(root, 'lib/status/info.ts'), `// ${reload}\n`);
    await printed('reloaded in');
    reloadMs.push(performance.now() - changed);
  }
  const exited = once(child, 'exit');
  process.kill(-(child.pid as number));
  await exited;
  return { readyMs, reloadMs };
}
