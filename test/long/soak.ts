import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { print } from '../../infra/commands/command-line.ts';
import { defineCommand, runCommand, WrongArguments } from '../../infra/commands/define-command.ts';
import { synthesize } from '../../infra/local/stack/synthesize.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { ENGINE_RULES } from '../support/instance/engine-rules.ts';
import type { Bench } from '../support/model/search-instance.ts';

/**
 * Long randomized test: checks the engine rules that all races rely on, then searches with
 * increasing seeds.
 */
const command = defineCommand({
  usage: 'npx node test/long/soak.ts [--minutes MINUTES] [--seed SEED]',
  help: `Searches for races, lost changes and broken rules until the time is up or a counterexample
is found.

--minutes MINUTES  how long to search (default 10)
--seed SEED        repeats the run that printed this seed (default: a random one)`,
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
  statuses: {
    noneFound: [0, 'no counterexample found'],
    failed: [1, 'a counterexample, which is printed with its seed'],
  },
  async run({ values }) {
    const [minutes, firstSeed] = [Number(values.minutes), Number(values.seed)];
    if (!(minutes > 0)) throw new WrongArguments('--minutes must be a number above 0.');
    if (!Number.isSafeInteger(firstSeed))
      throw new WrongArguments('--seed must be a whole number.');
    const { openBench } = await import('../support/model/search-instance.ts');
    const deadline = Date.now() + minutes * 60_000;
    print(`Seed ${firstSeed}, ${minutes} minutes`);
    const state = openMemoryState();
    const assembly = join(state.assemblies, 'soak');
    await synthesize(assembly, { checked: false, example: true });
    const bench = await openBench({ assembly });
    try {
      for (const [rule, requireRule] of Object.entries(ENGINE_RULES)) {
        await requireRule(bench.gatehouse.table);
        print(`Engine rule holds: ${rule}`);
      }
      const found = await search(bench, firstSeed, deadline);
      print(found ?? 'No counterexample found');
      return found === undefined ? 'noneFound' : 'failed';
    } catch (error) {
      // With the stack, because the error is a defect of the service or of this search.
      throw new Error((error as Error).stack);
    } finally {
      await bench.gatehouse.stop();
      rmSync(state.assemblies, { recursive: true, force: true });
    }
  },
});

async function search(
  bench: Bench,
  firstSeed: number,
  deadline: number,
): Promise<string | undefined> {
  const { runHistory } = await import('../support/model/histories.ts');
  const { PAIRS, runPairs } = await import('../support/model/pairs.ts');
  const { runSequences } = await import('../support/model/sequences.ts');
  const counts: Record<string, number> = {};
  const searches: Record<
    string,
    { size: number; search: (seed: number) => Promise<string | undefined> }
  > = {
    'pairs with two administrators': {
      size: 5 * PAIRS.length,
      search: (seed) => runPairs(bench, { seed, rounds: 5, administrators: 2 }),
    },
    'pairs with five administrators': {
      size: 2 * PAIRS.length,
      search: (seed) => runPairs(bench, { seed, rounds: 2, administrators: 5 }),
    },
    sequences: { size: 20, search: (seed) => runSequences(bench, { seed, runs: 20 }) },
    'operations in histories': {
      size: 1600,
      search: (seed) => runHistory(bench, { seed, clients: 8, operations: 200, faults: true }),
    },
  };
  for (let seed = firstSeed; Date.now() < deadline; seed++) {
    for (const [name, { size, search }] of Object.entries(searches)) {
      if (Date.now() >= deadline) break;
      const found = await search(seed);
      counts[name] = (counts[name] ?? 0) + size;
      if (found) return found;
    }
    print(
      `Seed ${seed}: ${Object.entries(counts)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')}`,
    );
  }
  return undefined;
}

await runCommand(command, process.argv.slice(2));
