import { print } from '../../infra/commands/command-line.ts';
import { defineCommand, runCommand, WrongArguments } from '../../infra/commands/define-command.ts';
import { contentionTable } from '../support/model/contention.ts';

/** Prints the conflict rates of a hot item; docs/scale.md has those of the default options. */
const command = defineCommand({
  usage: `npx node test/long/contention.ts [--hold MS] [--load MS] [--versioned]
                                       [--seconds SECONDS] [--seed SEED]`,
  help: `Simulates changes that conflict on one item of the table, at 1 to 200 changes per second.

--hold MS          how long a transaction holds the item (default 10)
--load MS          how long a change reads before it commits (default 10)
--versioned        the change also requires that the item has not changed since it was read
--seconds SECONDS  the simulated time (default 60)
--seed SEED        the seed of all randomness (default 1)`,
  options: {
    hold: { type: 'string', default: '10' },
    load: { type: 'string', default: '10' },
    versioned: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
  statuses: { simulated: [0, 'simulated'], failed: [1, 'not simulated'] },
  async run({ values }) {
    const [holdMs, loadMs] = [Number(values.hold), Number(values.load)];
    const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
    if (![holdMs, loadMs, seconds].every((number) => Number.isSafeInteger(number) && number > 0))
      throw new WrongArguments('--hold, --load and --seconds must be whole numbers above 0.');
    if (!Number.isSafeInteger(seed)) throw new WrongArguments('--seed must be a whole number.');
    print(contentionTable({ holdMs, loadMs, versioned: values.versioned, seconds, seed }));
    return 'simulated';
  },
});

await runCommand(command, process.argv.slice(2));
