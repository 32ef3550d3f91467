import { SCENARIOS } from './catalogue.ts';
import { deterministic } from './determinism.ts';
import { Opened, reportOf } from './scenario.ts';

/** The scenarios of a group that are run: every `every`th, with up to so many faults. */
export interface Share {
  readonly group: keyof typeof SCENARIOS;
  readonly faults: number;
  readonly every?: number;
}

/** Explores the scenarios of a share. `incomplete` counts the searches that did not end. */
export async function runShare({ group, faults, every = 1 }: Share) {
  const reports: string[] = [];
  let [scenarios, states, incomplete] = [0, 0, 0];
  await deterministic(async () => {
    let position = 0;
    for (const scenario of SCENARIOS[group]()) {
      if (position++ % every > 0) continue;
      const { seen, violation } = await new Opened(scenario).judge({ faults });
      scenarios++;
      states += seen.states;
      if (!seen.isComplete) incomplete++;
      if (violation) reports.push(reportOf(scenario, violation));
    }
  });
  return { scenarios, states, incomplete, reports };
}
