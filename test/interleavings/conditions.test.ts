import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { LONG } from '../support/instance/run-variables.ts';
import { SCENARIOS } from './catalogue.ts';
import { noting, without } from './conditions.ts';
import { deterministic } from './determinism.ts';
import { UNEXPLAINED } from './oracle.ts';
import { nameOfScenario, Opened, type Violation } from './scenario.ts';

/* docs/interleavings.md; -u updates it. */

const DOCUMENT = '../../docs/interleavings.md';

/** A schedule of two requests is shorter to read than one of three. */
const SHOWN = [
  'pairsAboutUsers',
  'pairsOfAdministrators',
  'recreations',
  'specialCases',
  'pairsAboutIntegrations',
] as const;

/** The scenarios in which each mutant occurs, the smallest first. */
async function scenariosByMutant(): Promise<Map<string, Opened[]>> {
  const explored: { opened: Opened; names: Set<string>; states: number }[] = [];
  for (const group of SHOWN)
    for (const scenario of SCENARIOS[group]()) {
      const [opened, names] = [new Opened(scenario), new Set<string>()];
      const { seen } = await opened.judge({ isMet: noting(names) });
      explored.push({ opened, names, states: seen.states });
    }
  const byMutant = new Map<string, Opened[]>();
  for (const { opened, names } of explored.toSorted((one, other) => one.states - other.states))
    for (const name of names) byMutant.set(name, [...(byMutant.get(name) ?? []), opened]);
  return byMutant;
}

async function breaking(name: string, among: readonly Opened[]) {
  for (const faults of [0, 1])
    for (const opened of among) {
      const { violation } = await opened.judge({ isMet: without(name), faults });
      if (violation) return { opened, violation };
    }
  return undefined;
}

it.runIf(LONG)(
  'every part of a condition is needed, by the schedules in docs/interleavings.md',
  async () => {
    const rows: string[][] = [];
    const needless: string[] = [];
    await deterministic(async () => {
      for (const [name, among] of [...(await scenariosByMutant())].sort()) {
        const found = await breaking(name, among);
        if (found) rows.push([...name.split(' | '), ...cellsOf(found.opened, found.violation)]);
        else needless.push(name);
      }
    });

    expect(needless).toEqual([]);
    const document = await readFile(new URL(DOCUMENT, import.meta.url), 'utf8');
    await expect(withGenerated(document, { conditions: tableOf(rows) })).toMatchFileSnapshot(
      DOCUMENT,
    );
  },
);

const tableOf = (rows: readonly (readonly string[])[]): string =>
  [['Write of', 'Item', 'Part', 'Scenario', 'Schedule', 'Otherwise'], Array(6).fill('---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');

const cellsOf = ({ scenario }: Opened, { reason, schedule }: Violation): string[] => [
  nameOfScenario(scenario).replaceAll(' | ', ', '),
  `\`${schedule.text}\``,
  reason.split('\n')[0]?.replace(UNEXPLAINED, 'not as in any order') as string,
];
