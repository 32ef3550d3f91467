import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { Item } from '../../lib/table/table.ts';
import { routes } from '../../routes.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { LONG } from '../support/instance/run-variables.ts';
import { SCENARIOS } from './catalogue.ts';
import { noting, without } from './conditions.ts';
import { deterministic } from './determinism.ts';
import { UNEXPLAINED } from './oracle.ts';
import { nameOfScenario, Opened, type Violation } from './scenario.ts';
import type { Request } from './worlds.ts';

/* README.md of this folder; -u updates it. */

const DOCUMENT = './README.md';
/**
 * They write what nothing decides on, a key, whose mailing is in the catalogue, and counts; or make
 * the change of another one.
 */
const LEFT_OUT = ['request-reset', 'delete-scim-user', 'count-overview'];

it('the document shows which handlers run at the same time, of all that write', async () => {
  const pairs = new Set<string>();
  await deterministic(async () => {
    const succeedsAlone = openOutcomes();
    for (const scenariosOf of Object.values(SCENARIOS))
      for (const { items, requests } of scenariosOf()) {
        // One that is refused by the state of its table is refused whatever runs beside it.
        const made: Request[] = [];
        for (const request of requests) if (await succeedsAlone(items, request)) made.push(request);
        for (const [position, one] of made.entries())
          for (const other of made.slice(position + 1)) {
            pairs.add(`${one.handler} ${other.handler}`);
            pairs.add(`${other.handler} ${one.handler}`);
          }
      }
  });
  const names = [...new Set([...pairs].map((pair) => pair.split(' ')[0] as string))].sort();
  const rows = names.map((name, row) => {
    const cells = names
      .slice(0, row + 1)
      .map((other) => (pairs.has(`${name} ${other}`) ? 'x' : '.'));
    return `${name.padEnd(24)} ${cells.join('')}`;
  });
  const document = await readFile(new URL(DOCUMENT, import.meta.url), 'utf8');

  await expect(
    withGenerated(document, { pairs: ['```text', ...rows, '```'].join('\n') }),
  ).toMatchFileSnapshot(DOCUMENT);
  const writing = routes.filter(({ permissions: { put, update, delete: deleted } }) =>
    Boolean(put ?? update ?? deleted),
  );
  expect(writing.map(({ handler }) => handler).filter((name) => !names.includes(name))).toEqual(
    LEFT_OUT,
  );
});

/** Tells whether a request succeeds alone on a table with these items; runs it once on each. */
function openOutcomes() {
  const known = new WeakMap<readonly Item[], Map<string, boolean>>();
  return async (items: readonly Item[], request: Request): Promise<boolean> => {
    const outcomes = known.get(items) ?? new Map<string, boolean>();
    known.set(items, outcomes);
    if (!outcomes.has(request.name))
      await new Opened({ items, requests: [request] }).judge({
        onFinal: ({ processes: [only] }) =>
          outcomes.set(request.name, only?.node?.outcome?.kind === 'result'),
      });
    return outcomes.get(request.name) === true;
  };
}

/** A schedule of two requests is shorter to read than one of three. */
const SHOWN = [
  'pairsAboutUsers',
  'pairsOfAdministrators',
  'recreations',
  'specialCases',
  'pairsAboutTokens',
  'pairsAboutIntegrations',
  'pairsAboutPlans',
  'pairsAboutIdentities',
  'pairsOfLinkedAdministrators',
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

it.runIf(LONG)('every part of a condition is needed, by the schedules in README.md', async () => {
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
});

const tableOf = (rows: readonly (readonly string[])[]): string =>
  [['Write of', 'Item', 'Part', 'Scenario', 'Schedule', 'Otherwise'], Array(6).fill('---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');

const cellsOf = ({ scenario }: Opened, { reason, schedule }: Violation): string[] => [
  nameOfScenario(scenario).replaceAll(' | ', ', '),
  `\`${schedule.text}\``,
  reason.split('\n')[0]?.replace(UNEXPLAINED, 'not as in any order') as string,
];
