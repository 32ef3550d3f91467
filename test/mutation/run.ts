import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createInstrumenter } from '@stryker-mutator/instrumenter';
import { createInjector } from 'typed-inject';
import { print } from '../../infra/commands/command-line.ts';
import { defineCommand } from '../../infra/commands/define-command.ts';
import { notesIn, type Plan } from './plan.ts';
import { fileOf, rankedTests, remember } from './rank-tests.ts';
import { addNote, emptyResults, type Mutant, type Results } from './results.ts';

const ROOT = join(import.meta.dirname, '../..');
const SCORE_MIN = 98;
const PROCESSES = 2;
/**
 * With how many tests a mutant is tried, and of which folder: of those over HTTP, up to a thousand
 * reach it, of which further ones detect few.
 */
const ROUNDS = [
  { most: 3, folder: 'test' },
  { most: Number.POSITIVE_INFINITY, folder: 'test/unit' },
  { most: 12, folder: 'test' },
  { most: 40, folder: 'test' },
] as const;
/** A process that notes nothing for this time before a test was stopped by a mutant. */
const SILENCE_MS = 90_000;
/** The same within a test that takes `ms` without a mutant. */
const silenceInTestMs = (ms: number): number => 15_000 + 10 * ms;
/** The work of one process, after which the others' detections are taken into account. */
const CHUNK_MS = 60_000;

/** What mutants are tried with; test/local has commands whose rules have no tests of their own. */
const TESTS = [
  'test/{unit,api}/**/*.test.ts',
  'test/interleavings/{interleavings,plans}.test.ts',
  'test/local/{person,verify,transfer,emergency,restore-rehearsal,plan-command}.test.ts',
];
/** This loads functions within a test: what is made on load would count as tested by it. */
const WITHOUT = ['test/unit/openapi.test.ts'];

export const command = defineCommand({
  usage: 'node infra/commands/bin.mjs test/mutation/run.ts FILES',
  help: `Changes one place of lib at a time, in FILES (a pattern, such as 'lib/**/*.ts'), and tries
which of these mutants the tests detect. Prints those that survive.`,
  options: {},
  positionals: ['FILES'],
  statuses: {
    enough: [0, `at least ${SCORE_MIN} % are detected`],
    failed: [1, 'fewer are, or something has failed'],
  },
  async run({ positionals: [files = ''] }) {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mutants-'));
    try {
      const mutants = await instrument(folder, files);
      const results = await measureCoverage(folder, mutants);
      for (const round of ROUNDS) await tryTests(folder, mutants, results, round);
      return report(mutants, results) >= SCORE_MIN ? 'enough' : 'failed';
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

/** Copies the repository, with all mutants in its lib. Returns them by their ids. */
async function instrument(folder: string, pattern: string): Promise<Map<number, Mutant>> {
  const without = new Set(['.git', 'cdk.out', '.local'].map((name) => join(ROOT, name)));
  const packages = join(ROOT, 'node_modules');
  cpSync(ROOT, folder, {
    recursive: true,
    filter: (source) => source !== packages && !without.has(source),
  });
  symlinkSync(packages, join(folder, 'node_modules'));
  const names = globSync(pattern, { cwd: ROOT }).toSorted();
  const instrumenter = createInjector()
    .provideValue('logger', new Proxy({} as never, { get: () => () => false }))
    .provideValue('options', {})
    .injectFunction(createInstrumenter);
  const { files, mutants } = await instrumenter.instrument(
    names.map((name) => ({ name, mutate: true, content: readFileSync(join(ROOT, name), 'utf8') })),
    { ignorers: [], plugins: null, excludedMutations: [] },
  );
  for (const { name, content } of files) writeFileSync(join(folder, name), content);
  return new Map(
    mutants
      .filter(({ status }) => status === undefined)
      .map((mutant) => [Number(mutant.id), mutant]),
  );
}

/** Runs each test once to see which mutants it reaches. */
async function measureCoverage(
  folder: string,
  mutants: ReadonlyMap<number, Mutant>,
): Promise<Results> {
  const files = globSync(TESTS, { cwd: folder, exclude: WITHOUT }).toSorted();
  const results = emptyResults(mutants.keys());
  const parts = Array.from({ length: PROCESSES }, (_, n) =>
    files.filter((_file, index) => index % PROCESSES === n),
  );
  const runs = parts.map(async (part, n) => {
    const notes = await runTests(folder, n, { files: part }, results);
    if (notes === 0) throw new Error(readFileSync(join(folder, `log-${n}`), 'utf8'));
  });
  await Promise.all(runs);
  return results;
}

/** Runs test files in a process, and adds its notes to the results. Returns how many there are. */
async function runTests(
  folder: string,
  n: number,
  { files, ...rest }: Omit<Plan, 'notes'>,
  results: Results,
): Promise<number> {
  const file = join(folder, `plan-${n}.json`);
  const notes = join(folder, `notes-${n}`);
  const log = openSync(join(folder, `log-${n}`), 'w');
  writeFileSync(notes, '');
  writeFileSync(file, JSON.stringify({ files, notes, ...rest } satisfies Plan));
  const config = ['--config', 'test/mutation/vitest.config.ts'];
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...config], {
    cwd: folder,
    stdio: ['ignore', log, log],
    env: { ...process.env, PLAN: file, NODE_OPTIONS: '--max-old-space-size=4000' },
  });
  const ended = once(child, 'close');
  const startedAt = Date.now();
  const mustEnd = () => {
    const last = notesIn(notes).at(-1);
    if (last && 'broken' in last) return true;
    const ms = last && 'trying' in last && results.durations.get(last.test);
    const noted = Math.max(startedAt, statSync(notes).mtimeMs);
    return Date.now() - noted > (ms ? silenceInTestMs(ms) : SILENCE_MS);
  };
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([ended, wait(1000)]);
    if (rest.mutants && mustEnd()) endTree(child.pid as number);
  }
  closeSync(log);
  const entries = notesIn(notes);
  for (const entry of entries) addNote(entry, results);
  const last = entries.at(-1);
  if (last && 'trying' in last) results.detected.set(last.trying, last.test);
  return entries.length;
}

/** Ends a process that does not react any more, and those that it has started, such as engines. */
function endTree(pid: number): void {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  for (const child of stdout.split('\n').filter(Boolean)) endTree(Number(child));
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended with its parent.
  }
}

/** Tries the mutants that are not detected with the tests that are most about them. */
async function tryTests(
  folder: string,
  mutants: ReadonlyMap<number, Mutant>,
  results: Results,
  { most, folder: tested }: (typeof ROUNDS)[number],
): Promise<void> {
  const testsOf = rankedTests(mutants, results);
  /** The tests that are left to try, each with its mutants. */
  const pairs = () => {
    const left = [...testsOf].flatMap(([id, tests]) =>
      results.detected.has(id)
        ? []
        : tests
            .filter((test) => test.startsWith(`${tested}/`) && !results.unusable.has(test))
            .slice(0, most)
            .filter((test) => !results.survived.get(id)?.has(test))
            .map((test) => ({ id, test })),
    );
    const byTest = Map.groupBy(left, ({ test }) => test);
    return [...byTest].map(([test, list]) => [test, list.map(({ id }) => id)] as const);
  };
  const work = new Map<string, number>();
  for (const [test, { length }] of pairs()) {
    const ms = (results.durations.get(test) ?? 0) + 20;
    work.set(fileOf(test), (work.get(fileOf(test)) ?? 0) + ms * length);
  }
  // Short ones first: what they detect, the long ones need not try.
  const waiting = [...work].toSorted(([, one], [, other]) => one - other);
  print(`${waiting.length} files, at most ${most} tests of ${tested} per mutant`);
  const next = () => {
    const files: string[] = [];
    for (let ms = 0; ms < CHUNK_MS && waiting[0]; ms += waiting.shift()?.[1] ?? 0)
      files.push(waiting[0][0]);
    return files;
  };
  const runNext = async (n: number): Promise<void> => {
    const files = next();
    // Again after a mutant that has ended the process.
    for (;;) {
      const left = pairs().filter(([test]) => files.includes(fileOf(test)));
      if (left.length === 0) break;
      const plan = {
        files: files.filter((file) => left.some(([test]) => fileOf(test) === file)),
        mutants: Object.fromEntries(left),
        onLoad: [...results.onLoad],
      };
      // The title of a test that is left contains a random number.
      if ((await runTests(folder, n, plan, results)) === 0) break;
    }
    remember(mutants, results.detected);
    print(`${results.detected.size} detected, ${waiting.length} files left`);
    if (waiting.length > 0) await runNext(n);
  };
  await Promise.all(Array.from({ length: PROCESSES }, (_, n) => runNext(n)));
}

/** Prints what has survived. Returns the score in percent. */
function report(
  mutants: ReadonlyMap<number, Mutant>,
  { testsOf, onLoad, outside, detected }: Results,
): number {
  const reached = (id: number) => testsOf.get(id)?.length ?? 0;
  const isStatic = (id: number) => reached(id) === 0 && (onLoad.has(id) || outside.has(id));
  const tried = [...mutants].filter(([id]) => !isStatic(id));
  for (const [id, { fileName, location, mutatorName, replacement }] of tried) {
    if (detected.has(id)) continue;
    const { line, column } = location.start;
    const change = `${mutatorName}: ${replacement.replaceAll(/\s+/g, ' ').slice(0, 100)}`;
    print(`${fileName}:${line + 1}:${column + 1} ${change} (${reached(id)} tests)`);
  }
  const score = (100 * tried.filter(([id]) => detected.has(id)).length) / tried.length;
  print(`${detected.size} of ${tried.length} mutants are detected: ${score.toFixed(2)} %`);
  return score;
}
