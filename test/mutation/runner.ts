import { setTimeout as wait } from 'node:timers/promises';
import { type RunnerTestCase as Test, TestRunner } from 'vitest';
import { itemsOf, restoreItems } from '../support/instance/items.ts';
import { running } from '../support/instance/launch.ts';
import { note, readPlan } from './plan.ts';
import { shared, takeReached } from './shared.ts';

/*
 * Repeats a test with one mutant after the other, in the running process: a start of processes and
 * local clouds for each mutant takes a hundred times as long. Items, mails and lines of clouds are
 * restored before each repetition. A mutant is detected if a test that can be repeated fails with
 * it; the next mutant is tried once the test passes again.
 */

type Task = Parameters<TestRunner['onBeforeRunTask']>[0];
type Options = Parameters<TestRunner['onBeforeTryTask']>[1];

interface Instrumented {
  activeMutant?: string;
  currentTestId?: string;
  hitCount?: number;
  hitLimit?: number;
  mutantCoverage: { static: Record<string, number>; perTest: Record<string, object> };
}

interface Repetition {
  readonly name: string;
  readonly mutants: number[];
  /** What the test found, and what it left behind: it must seem to have run once. */
  readonly before: Awaited<ReturnType<typeof stateOfClouds>>;
  after?: Repetition['before'];
  ms: number;
  step: 'without' | 'repeat' | 'mutant' | 'confirm' | 'confirm again' | 'end' | 'broken';
  active: number;
}

const plan = readPlan();
const memory = shared();
const onLoad = new Set(plan.onLoad);
const instrumented = globalThis as unknown as { __stryker__: Instrumented };
instrumented.__stryker__ ??= { mutantCoverage: { static: {}, perTest: {} } };
const { __stryker__: ofThread } = instrumented;
ofThread.mutantCoverage ??= { static: {}, perTest: {} };

function nameOf({ name, suite, file }: Task): string {
  const path = file.filepath.slice(process.cwd().length + 1);
  const titles = [name];
  for (let each = suite; each; each = each.suite) titles.unshift(each.name);
  return `${path} ${titles.join(' > ')}`;
}

const stateOfClouds = () =>
  Promise.all(
    [...running].map(async ({ cloud, lines }) => {
      await cloud.mailsHandedOver();
      const [mails, printed] = [[...cloud.mails], [...lines]];
      return { cloud, lines: lines as string[], items: await itemsOf(cloud), mails, printed };
    }),
  );

async function restore(state: Repetition['before']): Promise<void> {
  for (const { cloud, lines, items, mails, printed } of state) {
    await cloud.mailsHandedOver();
    await restoreItems(cloud, items);
    await cloud.mailsHandedOver();
    cloud.mails.splice(0, cloud.mails.length, ...mails);
    lines.splice(0, lines.length, ...printed);
    for (const calls of [cloud.lateCalls, cloud.deniedCalls]) calls.splice(0);
  }
}

/** Makes a mutant the active one in all threads and in processes that start from now on. */
function activate(mutant: number): void {
  const isNone = mutant === -1;
  memory.active[0] = mutant;
  Object.assign(ofThread, { activeMutant: String(mutant), hitCount: 0, hitLimit: memory.hitLimit });
  if (isNone) delete process.env.__STRYKER_ACTIVE_MUTANT__;
  else process.env.__STRYKER_ACTIVE_MUTANT__ = String(mutant);
}

function restartFunctions(): void {
  for (const { cloud } of running) cloud.recycle();
}

/** Notes the result of a repetition. Returns the next step. */
function next(
  { name, active, step }: Repetition,
  fails: boolean,
  message: string,
): Repetition['step'] {
  if (step === 'without' || step === 'repeat') {
    if (fails) note(plan, { unusable: name, message });
    return fails ? 'end' : step === 'without' ? 'repeat' : 'mutant';
  }
  if (step === 'mutant' && fails) return 'confirm';
  if (onLoad.has(active)) restartFunctions();
  // Functions remember what they did with the mutant.
  if (step === 'confirm' && fails) {
    restartFunctions();
    return 'confirm again';
  }
  note(plan, { tried: active, test: name, isDetected: step !== 'mutant' });
  return fails ? 'broken' : 'mutant';
}

export default class extends TestRunner {
  private current: Repetition | undefined;
  private startedAt = 0;

  override async onBeforeRunTask(test: Task): Promise<void> {
    await super.onBeforeRunTask(test);
    this.current = undefined;
    const mutants = plan.mutants?.[nameOf(test)];
    if (mutants) test.repeats = 3 * mutants.length + 4;
  }

  override async onBeforeTryTask(task: Task, options: Options): Promise<void> {
    await super.onBeforeTryTask(task, options);
    const test = task as Test;
    const name = nameOf(test);
    const mutants = plan.mutants?.[name];
    if (!plan.mutants) {
      takeReached(memory.inTest);
      ofThread.mutantCoverage.perTest = {};
      ofThread.currentTestId = 'current';
    } else if (mutants && !this.current) {
      const before = await stateOfClouds();
      const first = { name, mutants: [...mutants], before, ms: 0, active: -1 };
      this.current = { ...first, step: 'without' };
    } else if (this.current) await this.prepare(test, this.current);
    this.startedAt = performance.now();
  }

  /** Prepares a repetition. */
  private async prepare(test: Test, current: Repetition): Promise<void> {
    if (current.step === 'mutant') {
      current.active = current.mutants.shift() ?? -1;
      if (current.active === -1) current.step = 'end';
    }
    if (current.step === 'end') {
      if (current.after) await restore(current.after);
      delete current.after;
      test.context.skip();
    }
    await restore(current.before);
    if (current.step !== 'mutant') return;
    note(plan, { trying: current.active, test: current.name });
    activate(current.active);
    if (onLoad.has(current.active)) restartFunctions();
  }

  async runTask(test: Test): Promise<void> {
    const run = async () => TestRunner.getTestFn(test)?.();
    if (!this.current || this.current.step === 'without') return run();
    const ended = new AbortController();
    const late = wait(4 * this.current.ms + 2000, undefined, { signal: ended.signal }).then(() => {
      throw new Error('The test takes much longer with the mutant');
    });
    await Promise.race([run(), late]).finally(() => ended.abort());
  }

  override async onAfterRetryTask(test: Test, options: Options): Promise<void> {
    await super.onAfterRetryTask(test, options);
    const ms = performance.now() - this.startedAt;
    const { state, errors } = test.result ?? {};
    if (state === 'skip') return;
    if (!plan.mutants) this.noteReached(test, state === 'pass', ms);
    const { current } = this;
    if (!current) return;
    activate(-1);
    const fails = state === 'fail';
    if (test.result) {
      test.result.errors = undefined as never;
      // Otherwise the failures with mutants fill the memory.
      (test.result as { attempts?: unknown[] }).attempts = [];
    }
    if (current.step === 'without') {
      current.ms = ms;
      current.after = await stateOfClouds();
    }
    current.step = next(current, fails, String(errors?.[0]?.message));
    if (current.step !== 'broken') return;
    note(plan, { broken: current.name });
    // Until run.ts ends the process.
    await new Promise(() => undefined);
  }

  private noteReached(test: Task, passes: boolean, ms: number): void {
    delete ofThread.currentTestId;
    const inThread = Object.keys(ofThread.mutantCoverage.perTest.current ?? {}).map(Number);
    const reached = [...new Set([...inThread, ...takeReached(memory.inTest)])];
    if (passes) note(plan, { reached, test: nameOf(test), ms });
    const outside = Object.keys(ofThread.mutantCoverage.static).map(Number);
    note(plan, { onLoad: takeReached(memory.onLoad), outside });
    ofThread.mutantCoverage.static = {};
  }
}
