import {
  exitOnSignal,
  print,
  readArguments,
  rejectArguments,
  WRONG_ARGUMENTS,
} from '../../infra/commands/command-line.ts';
import { sampleOf, seed } from '../support/model/seed.ts';
import { mutants } from './mutants.ts';
import { openSandbox } from './sandbox.ts';

/* Runs the tests against every mutant, or a selection, and reports which ones survive. */

const SURVIVORS = 1;

const COMMAND = {
  usage: 'npx node test/mutants/run.ts [--only WORD] [--sample N]',
  help: `Plants each mutant in a copy of the source and runs the tests that must detect it.

--only WORD  only the mutants whose file or text contains this word
--sample N   only this number of them, chosen at random; SEED=n repeats a choice

Exit status
  0  every mutant was killed
  ${SURVIVORS}  a mutant survived, timed out or does not apply
  ${WRONG_ARGUMENTS}  wrong arguments`,
  options: { only: { type: 'string' }, sample: { type: 'string' } },
} as const;

const { only = '', sample } = readArguments(COMMAND).values;
if (sample !== undefined && !/^[1-9]\d*$/.test(sample))
  rejectArguments('--sample must be a number from 1.', COMMAND);
const matching = mutants.filter(({ file, from, to }) => `${file} ${from} ${to}`.includes(only));
if (matching.length === 0) rejectArguments(`No mutant contains ${JSON.stringify(only)}.`, COMMAND);
const chosen = sample ? sampleOf(matching, Number(sample), seed) : matching;
if (sample) print(`SEED=${seed}`);
const sandbox = openSandbox();
process.on('exit', () => sandbox.remove());
exitOnSignal(SURVIVORS);

const counts: Record<string, number> = {};
for (const mutant of chosen) {
  const started = Date.now();
  const { outcome, detail } = await sandbox.try(mutant);
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  const seconds = Math.round((Date.now() - started) / 1000);
  print(`${outcome} (${seconds} s) ${mutant.file}: ${JSON.stringify(mutant.to)}\n    ${detail}`);
}
print(`${chosen.length} mutants: ${JSON.stringify(counts)}`);
process.exit(counts.killed === chosen.length ? 0 : SURVIVORS);
