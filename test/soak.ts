import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { synthesize } from '../infra/local/stack/synthesize.ts';
import { openMemoryState } from '../infra/local/state/state.ts';
import { type Bench, openBench } from './support/bench.ts';
import { ENGINE_RULES } from './support/engine-rules.ts';
import { runHistory } from './support/histories.ts';
import { expectIntact } from './support/intact.ts';
import { PAIRS, runPairs } from './support/pairs.ts';
import { runSequences } from './support/sequences.ts';

/*
 * The long run: `npx node test/soak.ts --minutes 10 --seed 4711`. It asks the engine first what all races rest on, and
 * then searches, with other seeds each time round, until the time is over or something is found. Ends with 1 then.
 */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
});
const [minutes, first] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isSafeInteger(first)) {
  process.stderr.write('npx node test/soak.ts [--minutes 10] [--seed 4711]\n');
  process.exit(2);
}
const until = Date.now() + minutes * 60_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const done: Record<string, number> = {};
const SEARCHES: Record<string, { size: number; search: (bench: Bench, seed: number) => Promise<string | undefined> }> =
  {
    'rounds of pairs, two administrators': {
      size: 5 * PAIRS.length,
      search: (bench, seed) => runPairs(bench, { seed, rounds: 5, administrators: 2 }),
    },
    'rounds of pairs, five administrators': {
      size: 2 * PAIRS.length,
      search: (bench, seed) => runPairs(bench, { seed, rounds: 2, administrators: 5 }),
    },
    sequences: { size: 20, search: (bench, seed) => runSequences(bench, { seed, runs: 20 }) },
    'operations in histories': {
      size: 1600,
      search: (bench, seed) => runHistory(bench, { seed, clients: 8, operations: 200, faults: true }),
    },
    'creations at once': { size: 500, search: createManyAtOnce },
  };

say(`Seed ${first}, ${minutes} minutes`);
const state = openMemoryState();
await synthesize(join(state.assemblies, 'soak'));
const bench = await openBench({ assembly: join(state.assemblies, 'soak') });
let found: string | undefined;
try {
  for (const [rule, demand] of Object.entries(ENGINE_RULES)) {
    await demand(bench.gatehouse.table);
    say(`The engine: ${rule}`);
  }
  for (let seed = first; !found && Date.now() < until; seed++) {
    for (const [name, { size, search }] of Object.entries(SEARCHES)) {
      if (found || Date.now() >= until) break;
      found = await search(bench, seed);
      done[name] = (done[name] ?? 0) + size;
    }
    say(
      `Seed ${seed}: ${Object.entries(done)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')}`,
    );
  }
} finally {
  await bench.gatehouse.stop();
  rmSync(state.assemblies, { recursive: true, force: true });
}
say(found ?? 'Nothing found');
process.exit(found === undefined ? 0 : 1);

/** 500 at once get 500 ids, and the totals are right; of those who want one address, one gets it. */
async function createManyAtOnce({ gatehouse, putBack, token }: Bench, seed: number): Promise<string | undefined> {
  await putBack();
  const admin = await token(1);
  const create = (n: number, email: string) =>
    gatehouse.call('POST', '/api/users', { token: admin, body: { login: `crowd-${seed}-${n}`, email } });
  const spellings = ['kelvin@example.com', 'KELVIN@example.com', '\u212Aelvin@Example.com', 'kel\uFF56in@example.com'];
  try {
    const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => create(n, `crowd-${n}@example.com`)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 500);
    const wanted = await Promise.all(
      Array.from({ length: 60 }, (_, n) => create(1000 + n, spellings[n % 4] as string)),
    );
    assert.equal(wanted.filter(({ status }) => status === 201).length, 1);
    await expectIntact(gatehouse);
    return undefined;
  } catch (error) {
    return `Seed ${seed}, creations at once: ${(error as Error).message}`;
  }
}
