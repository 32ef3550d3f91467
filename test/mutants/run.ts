import { parseArgs } from 'node:util';
import { sampleOf, seed } from '../support/seed.ts';
import { mutants } from './mutants.ts';
import { openSandbox } from './sandbox.ts';

/*
 * Runs the tests against every mutant, or those whose file or text contains a word, and reports which ones survive:
 * `npx node test/mutants/run.ts [--only WORD] [--sample N]`. Fails unless all are killed. SEED=n repeats a sample.
 */

const { values } = parseArgs({ options: { only: { type: 'string' }, sample: { type: 'string' } } });
const matching = mutants.filter(({ file, from, to }) => `${file} ${from} ${to}`.includes(values.only ?? ''));
const chosen = values.sample ? sampleOf(matching, Number(values.sample), seed) : matching;
if (values.sample) process.stdout.write(`SEED=${seed}\n`);
const sandbox = openSandbox();
process.on('exit', () => sandbox.remove());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const counts: Record<string, number> = {};
for (const mutant of chosen) {
  const started = Date.now();
  const { outcome, detail } = await sandbox.try(mutant);
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  const seconds = Math.round((Date.now() - started) / 1000);
  process.stdout.write(`${outcome} (${seconds} s) ${mutant.file}: ${JSON.stringify(mutant.to)}\n    ${detail}\n`);
}
process.stdout.write(`${chosen.length} mutants: ${JSON.stringify(counts)}\n`);
process.exit(counts.killed === chosen.length ? 0 : 1);
