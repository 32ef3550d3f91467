import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  exitOnSignal,
  fail,
  print,
  readArguments,
  rejectArguments,
  WRONG_ARGUMENTS,
} from '../../infra/commands/command-line.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { shippedSettings } from '../support/stack/shipped-context.ts';
import { headOf, SECTIONS, type Section, sectionOf } from './document.ts';
import type { Functions } from './functions.ts';
import { lineChart } from './line-chart.ts';
import type { CloudProcess } from './loads.ts';

/*
 * `npm run bench`: measures Gatehouse and writes docs/performance.md, or prints the measurements of
 * some sections.
 */

/** How often and how long is measured. Durations are in milliseconds. */
const FULL = {
  coldRounds: 9,
  // V8 compiles by the number of calls: the CPU time of a call keeps falling for several thousand.
  warm: { rounds: 2, warmUp: { calls: 5000, minMs: 450, maxMs: 2500 }, measureMs: 600 },
  // A call takes milliseconds.
  engine: { rounds: 2, warmUp: { calls: 5000, minMs: 450, maxMs: 15_000 }, measureMs: 2500 },
  warmUpLoadMs: 10_000,
  loadMs: 5000,
  starts: 5,
  users: [100, 10_000, 100_000],
};
const QUICK: typeof FULL = {
  coldRounds: 3,
  warm: { rounds: 1, warmUp: { calls: 1500, minMs: 150, maxMs: 300 }, measureMs: 150 },
  engine: { rounds: 1, warmUp: { calls: 1500, minMs: 450, maxMs: 3000 }, measureMs: 1000 },
  warmUpLoadMs: 2000,
  loadMs: 2000,
  starts: 1,
  users: [100, 10_000],
};

const FAILED = 1;

const COMMAND = {
  usage: `npm run bench -- [--quick] [--only ${SECTIONS.join(',')}]`,
  help: `Measures Gatehouse on this machine and writes docs/performance.md and docs/performance-growth.svg.

--quick          measures less often and smaller tables
--only SECTIONS  prints the measurements of these sections and writes nothing

Exit status
  0  everything was measured
  ${FAILED}  a measurement failed
  ${WRONG_ARGUMENTS}  wrong arguments`,
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
} as const;

const DOCS = join(import.meta.dirname, '../../docs');

const { quick, only } = readArguments(COMMAND).values;
const sections = only?.split(',').map(sectionNamed) ?? SECTIONS;
exitOnSignal(FAILED);
// After the arguments: these load the whole service.
const { synthesize } = await import('../../infra/local/stack/synthesize.ts');
const { measureCalls } = await import('./calls.ts');
const { measureCold } = await import('./cold.ts');
const { measureDevelopment } = await import('./development.ts');
const { openFunctions } = await import('./functions.ts');
const { measureGateway } = await import('./gateway.ts');
const { measureGrowth } = await import('./growth.ts');
const { measureHotKeys } = await import('./hot-keys.ts');
const { startCloudProcess } = await import('./loads.ts');
const { measureWarm, measureWarmWithEngine } = await import('./warm.ts');

const state = openMemoryState();
await run()
  .catch((error) => fail(error instanceof Error ? error.message : String(error), FAILED))
  .finally(state.close);
process.exit();

async function run(): Promise<void> {
  const assembly = join(state.assemblies, 'assembly');
  await synthesize(assembly, { checked: false, ...shippedSettings });
  const { coldRounds, warm, engine, warmUpLoadMs, loadMs, starts, users } = quick ? QUICK : FULL;
  let opened: Functions | undefined;
  const functions = async () => {
    opened ??= await openFunctions(assembly, join(state.assemblies, 'variants'));
    return opened;
  };
  let chart = '';
  const measurements: Record<Section, () => Promise<string>> = {
    cold: async () => measureCold(await functions(), coldRounds),
    async warm() {
      const replayed = await measureWarm(await functions(), warm);
      return `${replayed}\n\n### With the engine\n\n${await measureWarmWithEngine(await functions(), engine)}`;
    },
    calls: () => measureCalls(assembly),
    gateway: () =>
      withCloud(assembly, (cloud) =>
        measureGateway(cloud, { warmUpMs: warmUpLoadMs, durationMs: loadMs }),
      ),
    development: () => measureDevelopment(starts),
    async growth() {
      const { text, series } = await measureGrowth(assembly, users);
      const title = 'Milliseconds of a request by the number of users';
      chart = lineChart(series, { title, xLabel: 'users', yLabel: 'ms' });
      return text;
    },
    hot: () => withCloud(assembly, (cloud) => measureHotKeys(cloud, loadMs)),
  };
  const written: string[] = [headOf()];
  print(written[0] as string);
  try {
    for (const section of sections) {
      const text = sectionOf(section, await measurements[section]());
      written.push(text);
      print(text);
    }
  } finally {
    await opened?.stop();
  }
  if (only) return;
  writeFileSync(join(DOCS, 'performance.md'), `${written.join('\n').trimEnd()}\n`);
  writeFileSync(join(DOCS, 'performance-growth.svg'), chart);
}

async function withCloud(
  assembly: string,
  measure: (cloud: CloudProcess) => Promise<string>,
): Promise<string> {
  const cloud = await startCloudProcess(assembly);
  return measure(cloud).finally(cloud.stop);
}

function sectionNamed(name: string): Section {
  const section = SECTIONS.find((each) => each === name);
  return section ?? rejectArguments(`There is no section ${JSON.stringify(name)}.`, COMMAND);
}
