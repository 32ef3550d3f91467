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
  const named = Object.values(SCENARIOS)
    .flatMap((scenariosOf) => [...scenariosOf()])
    .filter((scenario) => nameOfScenario(scenario) === name);
  let last = `There is no scenario ${name}`;
  // The same requests can run on several tables, not all of which permit the moves.
  for (const scenario of named) {
    const replayed = await new Opened(scenario).replay(moves).catch((error: Error) => error);
    if (replayed instanceof Error) last = replayed.message;
    else {
      const { schedule, reason = 'Nothing is wrong with it.' } = replayed;
      last = [...schedule.lines, reason].join('\n');
      if (replayed.reason !== undefined) break;
    }
  }
  console.log(last);
});
