import { parseArgs } from 'node:util';
import { sampleOf, seed } from '../support/seed.ts';
import { mutants } from './mutants.ts';
import { openNursery } from './try-mutant.ts';

/*
 * Plants every mutant of the list, or those whose file or text contains a word, and tells which of them the tests do not
 * notice: `npx node test/mutants/run.ts [--only WORD] [--sample N]`. Fails when one survives; SEED=n takes the same sample again.
 */

const { values } = parseArgs({ options: { only: { type: 'string' }, sample: { type: 'string' } } });
const found = mutants.filter(({ file, from, to }) => `${file} ${from} ${to}`.includes(values.only ?? ''));
const chosen = values.sample ? sampleOf(found, Number(values.sample), seed) : found;
if (values.sample) process.stdout.write(`SEED=${seed}\n`);
const nursery = openNursery();
process.on('exit', () => nursery.remove());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const counts: Record<string, number> = {};
for (const mutant of chosen) {
  const started = Date.now();
  const { outcome, by } = await nursery.try(mutant);
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  const seconds = Math.round((Date.now() - started) / 1000);
  process.stdout.write(`${outcome} (${seconds} s) ${mutant.file}: ${JSON.stringify(mutant.to)}\n    ${by}\n`);
}
process.stdout.write(`${chosen.length} mutants: ${JSON.stringify(counts)}\n`);
process.exit(counts.killed === chosen.length ? 0 : 1);
