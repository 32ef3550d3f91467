import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { print } from '../../infra/commands/command-line.ts';
import { defineCommand, WrongArguments } from '../../infra/commands/define-command.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';

const SECTIONS = ['functions', 'load', 'development', 'growth'] as const;
type Section = (typeof SECTIONS)[number];

/** How often and how long is measured. Durations are in milliseconds. */
const FULL = {
  functions: { instances: 3, warmUp: 20, measured: 20 },
  load: { warmUpMs: 10_000, durationMs: 5000 },
  starts: 5,
  users: [100, 10_000, 100_000],
};
const QUICK: typeof FULL = {
  functions: { instances: 1, warmUp: 10, measured: 10 },
  load: { warmUpMs: 2000, durationMs: 2000 },
  starts: 1,
  users: [100, 10_000],
};

const DOCUMENT = join(import.meta.dirname, '../../docs/performance.md');

/** `npm run bench`: measures Gatehouse and writes the tables of docs/performance.md. */
export const command = defineCommand({
  usage: `npm run bench -- [--quick] [--only ${SECTIONS.join(',')}]`,
  help: `Measures Gatehouse on this machine and writes what it measured, with the date, into
docs/performance.md.

--quick          measures less often and smaller tables, and only prints
--only SECTIONS  measures these sections; the others keep their measurements`,
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
  statuses: { measured: [0, 'everything was measured'], failed: [1, 'a measurement failed'] },
  async run({ values: { quick, only } }) {
    const sections = only?.split(',').map(sectionNamed) ?? SECTIONS;
    const state = openMemoryState();
    await measureAll(state.assemblies, sections, quick).finally(state.close);
    return 'measured';
  },
});

async function measureAll(
  folder: string,
  sections: readonly Section[],
  quick: boolean,
): Promise<void> {
  const { synthesize } = await import('../../infra/local/stack/synthesize.ts');
  const { measureDevelopment } = await import('./development.ts');
  const { measureFunctions } = await import('./functions.ts');
  const { measureGrowth } = await import('./growth.ts');
  const { measureLoads } = await import('./load-table.ts');
  const assembly = join(folder, 'assembly');
  await synthesize(assembly, { checked: false, example: true });
  const { functions, load, starts, users } = quick ? QUICK : FULL;
  const measure: Record<Section, () => Promise<string>> = {
    functions: () => measureFunctions(assembly, functions),
    load: () => measureLoads(assembly, load),
    development: () => measureDevelopment(starts),
    growth: () => measureGrowth(assembly, users),
  };
  for (const section of sections) {
    const text = `${await measure[section]()}\n\n${conditions()}`;
    print(text);
    if (!quick) write(section, text);
  }
}

function conditions(): string {
  const [date, { node }] = [new Date().toISOString().slice(0, 10), process.versions];
  const cores = availableParallelism();
  return `Measured on ${date} on a machine with ${cores} cores, with Node ${node}.`;
}

function write(section: Section, text: string): void {
  writeFileSync(DOCUMENT, withGenerated(readFileSync(DOCUMENT, 'utf8'), { [section]: text }));
}

function sectionNamed(name: string): Section {
  const section = SECTIONS.find((each) => each === name);
  if (section) return section;
  throw new WrongArguments(`There is no section ${JSON.stringify(name)}.`);
}
