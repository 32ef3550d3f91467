import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  print,
  readArguments,
  rejectArguments,
  WRONG_ARGUMENTS,
} from '../../infra/commands/command-line.ts';
import { synthesize } from '../../infra/local/stack/synthesize.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { ENGINE_RULES } from '../support/instance/engine-rules.ts';
import type { Bench } from '../support/model/search-instance.ts';
import { shippedSettings } from '../support/stack/shipped-context.ts';

/*
 * Long randomized test: checks the engine rules that all races rely on, then searches with
 * increasing seeds.
 */

const COUNTEREXAMPLE = 1;

const COMMAND = {
  usage: 'npx node test/long/soak.ts [--minutes MINUTES] [--seed SEED]',
  help: `Searches for races, lost changes and broken rules until the time is up or a counterexample is found.

--minutes MINUTES  how long to search (default 10)
--seed SEED        repeats the run that printed this seed (default: a random one)

Exit status
  0  no counterexample found
  ${COUNTEREXAMPLE}  a counterexample, which is printed with its seed
  ${WRONG_ARGUMENTS}  wrong arguments`,
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
} as const;

const { values } = readArguments(COMMAND);
const [minutes, firstSeed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0)) rejectArguments('--minutes must be a number above 0.', COMMAND);
if (!Number.isSafeInteger(firstSeed)) rejectArguments('--seed must be a whole number.', COMMAND);
// After the arguments: these load most of the service.
const { openBench } = await import('../support/model/search-instance.ts');
const { runHistory } = await import('../support/model/histories.ts');
const { expectIntact } = await import('../support/instance/intact.ts');
const { PAIRS, runPairs } = await import('../support/model/pairs.ts');
const { runSequences } = await import('../support/model/sequences.ts');

const deadline = Date.now() + minutes * 60_000;

const counts: Record<string, number> = {};
const SEARCHES: Record<
  string,
  { size: number; search: (bench: Bench, seed: number) => Promise<string | undefined> }
> = {
  'pairs with two administrators': {
    size: 5 * PAIRS.length,
    search: (bench, seed) => runPairs(bench, { seed, rounds: 5, administrators: 2 }),
  },
  'pairs with five administrators': {
    size: 2 * PAIRS.length,
    search: (bench, seed) => runPairs(bench, { seed, rounds: 2, administrators: 5 }),
  },
  sequences: { size: 20, search: (bench, seed) => runSequences(bench, { seed, runs: 20 }) },
  'operations in histories': {
    size: 1600,
    search: (bench, seed) => runHistory(bench, { seed, clients: 8, operations: 200, faults: true }),
  },
  'concurrent creations': { size: 500, search: createManyAtOnce },
};

print(`Seed ${firstSeed}, ${minutes} minutes`);
const state = openMemoryState();
await synthesize(join(state.assemblies, 'soak'), { checked: false, ...shippedSettings });
const bench = await openBench({ assembly: join(state.assemblies, 'soak') });
let found: string | undefined;
try {
  for (const [rule, requireRule] of Object.entries(ENGINE_RULES)) {
    await requireRule(bench.gatehouse.table);
    print(`Engine rule holds: ${rule}`);
  }
  for (let seed = firstSeed; !found && Date.now() < deadline; seed++) {
    for (const [name, { size, search }] of Object.entries(SEARCHES)) {
      if (found || Date.now() >= deadline) break;
      found = await search(bench, seed);
      counts[name] = (counts[name] ?? 0) + size;
    }
    print(
      `Seed ${seed}: ${Object.entries(counts)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')}`,
    );
  }
} finally {
  await bench.gatehouse.stop();
  rmSync(state.assemblies, { recursive: true, force: true });
}
print(found ?? 'No counterexample found');
process.exit(found === undefined ? 0 : COUNTEREXAMPLE);

/**
 * 500 concurrent creations get distinct ids, and exactly one of 60 concurrent creations with the
 * same e-mail address succeeds.
 */
async function createManyAtOnce(
  { gatehouse, restore, token }: Bench,
  seed: number,
): Promise<string | undefined> {
  await restore();
  const admin = await token(1);
  const create = (n: number, email: string) =>
    gatehouse.call('POST', '/api/users', {
      token: admin,
      body: { login: `crowd-${seed}-${n}`, email },
    });
  const spellings = [
    'kelvin@example.com',
    'KELVIN@example.com',
    '\u212Aelvin@Example.com',
    'kel\uFF56in@example.com',
  ];
  try {
    const responses = await Promise.all(
      Array.from({ length: 500 }, (_, n) => create(n, `crowd-${n}@example.com`)),
    );
    assert.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
    assert.equal(new Set(responses.map(({ body }) => body.id)).size, 500);
    const wanted = await Promise.all(
      Array.from({ length: 60 }, (_, n) => create(1000 + n, spellings[n % 4] as string)),
    );
    assert.equal(wanted.filter(({ status }) => status === 201).length, 1);
    await expectIntact(gatehouse);
    return undefined;
  } catch (error) {
    return `Seed ${seed}, concurrent creations: ${(error as Error).message}`;
  }
}
