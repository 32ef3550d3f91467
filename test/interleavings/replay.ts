import { SCENARIOS } from './catalogue.ts';
import { deterministic } from './determinism.ts';
import { nameOfScenario, Opened } from './scenario.ts';

/*
 * Repeats a schedule as a violation names it:
 *
 *   npx node test/interleavings/replay.ts 'ada deletes bob | bob deletes ada' '1 1 2 2 1 2'
 */

const [name, moves = ''] = process.argv.slice(2);
await deterministic(async () => {
  for (const scenariosOf of Object.values(SCENARIOS))
    for (const scenario of scenariosOf())
      if (nameOfScenario(scenario) === name) {
        const { schedule, reason } = await new Opened(scenario).replay(moves);
        console.log([...schedule.lines, reason ?? 'Nothing is wrong with it.'].join('\n'));
        return;
      }
  console.error(`There is no scenario ${name}`);
  process.exitCode = 1;
});
