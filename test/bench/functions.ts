import { statSync } from 'node:fs';
import { join } from 'node:path';
import { environmentOf, type FunctionConfig } from '../../infra/local/lambda/instance.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { routes } from '../../routes.ts';
import { type ExampleRequest, REQUESTS } from '../support/instance/example-requests.ts';
import { launch } from '../support/instance/launch.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { type Invocation, runChild } from './children.ts';
import { type Events, openEvents } from './events.ts';
import { median } from './statistics.ts';
import { digits, table } from './tables.ts';

/** How many instances of each function are measured, and how many calls of each. */
interface FunctionOptions {
  readonly instances: number;
  /** Calls after the first one that are not measured, and those that are. */
  readonly warmUp: number;
  readonly measured: number;
}

const COLUMNS = ['bundle KB', 'cold: CPU ms', 'ms', 'RSS MiB', 'warm: CPU ms', 'ms'];

/**
 * Measures the function of every route: its first call in a fresh process, and later ones. It calls
 * the local cloud, which runs in this process.
 */
export async function measureFunctions(
  assembly: string,
  options: FunctionOptions,
): Promise<string> {
  const gatehouse = await launch({ assembly, breaksData: true });
  const events = await openEvents();
  try {
    const setup = await openSetup(gatehouse);
    const rows: [title: string, values: readonly number[]][] = [];
    for (const { route, handler } of routes) {
      process.stderr.write(`functions: ${route}\n`);
      const bundle = join(assembly, 'bundles', handler, 'index.mjs');
      const change = REQUESTS.find((each) => each.route === route) as ExampleRequest;
      const costs: (readonly number[])[] = [];
      for (let instance = 0; instance < options.instances; instance++)
        costs.push(await costOf(bundle, { setup, events, change, options }));
      rows.push([route, [statSync(bundle).size / 1024, ...mediansOf(costs)]]);
    }
    rows.push(['median', mediansOf(rows.map(([, values]) => values))]);
    return table(
      ['', ...COLUMNS],
      rows.map(([title, values]) => [title, ...values.map(digits)]),
    );
  } finally {
    await events.stop();
    await gatehouse.stop();
  }
}

const mediansOf = (rows: readonly (readonly number[])[]): number[] =>
  (rows[0] ?? []).map((_, column) => median(rows.map((row) => row[column] ?? Number.NaN)));

async function costOf(
  bundle: string,
  {
    setup,
    events,
    change,
    options: { warmUp, measured },
  }: { setup: Setup; events: Events; change: ExampleRequest; options: FunctionOptions },
): Promise<readonly number[]> {
  const { cloud } = setup.gatehouse;
  const config = cloud.functions.find(({ name }) => name === change.route) as FunctionConfig;
  const requests = [];
  for (let n = 0; n < 1 + warmUp + measured; n++)
    requests.push(await events.eventOf((await change.prepare(setup)).request));
  const invocations = await runChild({
    bundle,
    environment: operatorEnvironment(config),
    timeoutMs: config.timeoutMs,
    events: requests,
  });
  const failed = invocations.find(({ statusCode }) => statusCode !== change.success);
  if (failed) throw new Error(`${change.route} responded ${failed.statusCode}: ${failed.body}`);
  const [first] = invocations as [Invocation];
  const [before] = invocations.slice(warmUp) as [Invocation];
  const last = invocations.at(-1) as Invocation;
  return [
    first.cpuMsSoFar,
    first.ms,
    first.rssBytes / 2 ** 20,
    (last.cpuMsSoFar - before.cpuMsSoFar) / measured,
    median(invocations.slice(1 + warmUp).map(({ ms }) => ms)),
  ];
}

/** The environment of a function that calls AWS with the permissions of an operator. */
const operatorEnvironment = (config: FunctionConfig) => environmentOf(config, OPERATOR.accessKeyId);
