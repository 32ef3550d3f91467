import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  existsSync,
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
import { createInstrumenter, type Instrumenter } from '@stryker-mutator/instrumenter';
import { createInjector } from 'typed-inject';
import { print } from '../../infra/commands/command-line.ts';
import { defineCommand } from '../../infra/commands/define-command.ts';
import { type Note, notesIn, type Plan } from './plan.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Which test detected a mutant last time: it is tried first. */
const MEMORY = join(ROOT, 'node_modules/.cache/mutants.json');
const SCORE_MIN = 98;
const PROCESSES = 2;
/** After so many tests a mutant has survived: further ones, of up to a thousand, detect few. */
const ROUNDS = [3, 12, 40];
/** How far the code reaches for whose tests a mutant is tried first. */
const NEAR_LINES = 8;
/** Nothing noted for so long: the mutant has stopped the process. */
const SILENCE_MS = 90_000;
/** The work of one process, after which the others' detections are taken into account. */
const CHUNK_MS = 60_000;

/** What mutants are tried with; test/local has commands whose rules have no tests of their own. */
const TESTS = [
  'test/{unit,api}/**/*.test.ts',
  'test/interleavings/interleavings.test.ts',
  'test/local/{person,verify,transfer,emergency,restore-rehearsal,plan-command}.test.ts',
];
/** These load functions within a test: what is made on load would count as tested by them. */
const WITHOUT = ['test/unit/daily-verification.test.ts', 'test/unit/openapi.test.ts'];

const isEnabled = () => false;
const SILENT = {
  isDebugEnabled: isEnabled,
  isInfoEnabled: isEnabled,
  isTraceEnabled: isEnabled,
  debug: () => undefined,
  info: () => undefined,
};

type Mutant = Awaited<ReturnType<Instrumenter['instrument']>>['mutants'][number];

interface Knowledge {
  /** Milliseconds by test. */
  readonly tests: Map<string, number>;
  readonly testsOf: Map<number, string[]>;
  /** Mutants that are reached when functions are loaded, and those between tests. */
  readonly onLoad: Set<number>;
  readonly outside: Set<number>;
  /** With the test that has detected it. */
  readonly detected: Map<number, string>;
  readonly survived: Map<number, Set<string>>;
  readonly unusable: Set<string>;
}

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
      const known = await reach(folder, mutants);
      for (const most of ROUNDS) await tryTests(folder, mutants, known, most);
      remember(mutants, known);
      return report(mutants, known) >= SCORE_MIN ? 'enough' : 'failed';
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
    .provideValue('logger', SILENT as never)
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
async function reach(folder: string, mutants: ReadonlyMap<number, Mutant>): Promise<Knowledge> {
  const files = globSync(TESTS, { cwd: folder, exclude: WITHOUT }).toSorted();
  const known: Knowledge = {
    tests: new Map(),
    testsOf: new Map([...mutants.keys()].map((id) => [id, []])),
    onLoad: new Set(),
    outside: new Set(),
    detected: new Map(),
    survived: new Map(),
    unusable: new Set(),
  };
  const parts = Array.from({ length: PROCESSES }, (_, n) =>
    files.filter((_file, index) => index % PROCESSES === n),
  );
  const runs = parts.map(async (part, n) => {
    const notes = await runTests(folder, n, { files: part }, known);
    if (notes === 0) throw new Error(readFileSync(join(folder, `log-${n}`), 'utf8'));
  });
  await Promise.all(runs);
  return known;
}

/** Runs test files in a process, and learns from its notes. Returns how many there are. */
async function runTests(
  folder: string,
  n: number,
  { files, ...rest }: Omit<Plan, 'notes'>,
  known: Knowledge,
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
  const isSilent = () => Date.now() - Math.max(startedAt, statSync(notes).mtimeMs) > SILENCE_MS;
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([ended, wait(1000)]);
    if (rest.mutants && isSilent()) endTree(child.pid as number);
  }
  closeSync(log);
  const entries = notesIn(notes);
  for (const entry of entries) learn(entry, known);
  const last = entries.at(-1);
  if (last && 'trying' in last) known.detected.set(last.trying, last.test);
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

function learn(entry: Note, known: Knowledge): void {
  if ('reached' in entry) {
    known.tests.set(entry.test, entry.ms);
    for (const id of entry.reached) known.testsOf.get(id)?.push(entry.test);
  } else if ('onLoad' in entry) {
    for (const id of entry.onLoad) known.onLoad.add(id);
    for (const id of entry.outside) known.outside.add(id);
  } else if ('unusable' in entry) known.unusable.add(entry.unusable);
  else if ('tried' in entry && entry.isDetected) known.detected.set(entry.tried, entry.test);
  else if ('tried' in entry) {
    const survived = known.survived.get(entry.tried) ?? new Set();
    known.survived.set(entry.tried, survived.add(entry.test));
  }
}

/** Tries the mutants that are not detected with the tests that are most about them. */
async function tryTests(
  folder: string,
  mutants: ReadonlyMap<number, Mutant>,
  known: Knowledge,
  most: number,
): Promise<void> {
  const testsOf = rankedTests(mutants, known);
  const pairs = () => {
    const mutantsOf = new Map<string, number[]>();
    for (const [id, tests] of testsOf) {
      if (known.detected.has(id)) continue;
      const usable = tests.filter((test) => !known.unusable.has(test)).slice(0, most);
      const left = usable.filter((test) => !known.survived.get(id)?.has(test));
      for (const test of left) mutantsOf.set(test, [...(mutantsOf.get(test) ?? []), id]);
    }
    return [...mutantsOf];
  };
  const work = new Map<string, number>();
  for (const [test, { length }] of pairs()) {
    const ms = (known.tests.get(test) ?? 0) + 20;
    work.set(fileOf(test), (work.get(fileOf(test)) ?? 0) + ms * length);
  }
  // Short ones first: what they detect, the long ones need not try.
  const waiting = [...work].toSorted(([, one], [, other]) => one - other);
  print(`${waiting.length} files, at most ${most} tests per mutant`);
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
      const plan = { files, mutants: Object.fromEntries(left), onLoad: [...known.onLoad] };
      // The title of a test that is left contains a random number.
      if ((await runTests(folder, n, plan, known)) === 0) break;
    }
    print(`${known.detected.size} detected, ${waiting.length} files left`);
    if (waiting.length > 0) await runNext(n);
  };
  await Promise.all(Array.from({ length: PROCESSES }, (_, n) => runNext(n)));
}

const fileOf = (test: string): string => test.slice(0, test.indexOf(' '));

/**
 * The tests of each mutant: first the one that detected it last time, then those that reach what
 * few tests reach in the lines around it, in a short time and of many files.
 */
function rankedTests(
  mutants: ReadonlyMap<number, Mutant>,
  { tests, testsOf, onLoad }: Knowledge,
): Map<number, string[]> {
  const last = lastDetections();
  const inFile = Map.groupBy(mutants.values(), ({ fileName }) => fileName);
  const testsIn = (id: string) => testsOf.get(Number(id)) ?? [];
  const ranked = [...mutants].map(([id, mutant]): [number, string[]] => {
    const ofFile = inFile.get(mutant.fileName) ?? [];
    const own = testsIn(mutant.id);
    // What functions make when they are loaded is used by tests that do not reach it.
    const isMade = onLoad.has(id) && own.length > 0;
    const values = new Map(
      (isMade ? ofFile.flatMap((each) => testsIn(each.id)) : own).map((test) => [test, 0]),
    );
    for (const other of ofFile) {
      const distance = 1 + Math.abs(other.location.start.line - mutant.location.start.line);
      if (distance > NEAR_LINES) continue;
      const others = testsIn(other.id);
      for (const test of others) {
        const value = values.get(test);
        if (value !== undefined) values.set(test, value + 1 / (distance * others.length));
      }
    }
    const detecting = last[keyOf(mutant)];
    const promiseOf = (test: string) =>
      test === detecting
        ? Number.POSITIVE_INFINITY
        : (values.get(test) ?? 0) / Math.sqrt((tests.get(test) ?? 0) + 60);
    const counts = new Map<string, number>();
    const order = [...values.keys()]
      .toSorted((one, other) => promiseOf(other) - promiseOf(one))
      .map((test): [string, number] => {
        const n = (counts.get(fileOf(test)) ?? 0) + 1;
        counts.set(fileOf(test), n);
        return [test, promiseOf(test) / Math.sqrt(n)];
      })
      .toSorted(([, one], [, other]) => other - one);
    return [id, order.map(([test]) => test)];
  });
  return new Map(ranked);
}

/** Names a mutant as long as its line is the same, wherever it is in the file. */
function keyOf({ fileName, location, mutatorName, replacement }: Mutant): string {
  const { line, column } = location.start;
  return [fileName, linesOf(fileName)[line], column, mutatorName, replacement].join(' ');
}

const lines = new Map<string, string[]>();
function linesOf(file: string): string[] {
  const known = lines.get(file) ?? readFileSync(join(ROOT, file), 'utf8').split('\n');
  lines.set(file, known);
  return known;
}

const lastDetections = (): Record<string, string> =>
  existsSync(MEMORY) ? JSON.parse(readFileSync(MEMORY, 'utf8')) : {};

function remember(mutants: ReadonlyMap<number, Mutant>, { detected }: Knowledge): void {
  const entries = [...detected].map(([id, test]) => [keyOf(mutants.get(id) as Mutant), test]);
  writeFileSync(MEMORY, JSON.stringify({ ...lastDetections(), ...Object.fromEntries(entries) }));
}

/** Prints what has survived. Returns the score in percent. */
function report(
  mutants: ReadonlyMap<number, Mutant>,
  { testsOf, onLoad, outside, detected }: Knowledge,
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
