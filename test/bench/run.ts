import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { print } from '../../infra/commands/command-line.ts';
import { defineCommand } from '../../infra/commands/define-command.ts';
import { startGateway } from '../../infra/local/gateway/gateway.ts';
import { environmentOf, type FunctionConfig } from '../../infra/local/lambda/instance.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { integrationIdOf } from '../../lib/table/keys.ts';
import { routes } from '../../routes.ts';
import { digits, table } from '../support/costs/tables.ts';
import { REQUESTS } from '../support/instance/example-requests.ts';
import { launch, type Sent } from '../support/instance/launch.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';

const INSTANCES = 5;
/** Calls of each instance after its first one, the later half of which is measured. */
const WARM = 60;
/** How often the processor time of the floor a first call and a later one may take. */
const MOST = { cold: 1.3, warm: 1.4 };
const POLL = 'GET /api/utm-integrations/{id}/module';

type Request = Sent & { readonly path: string };

/** A request to each route. The users that are changed differ. */
const ROWS: Readonly<Record<string, (setup: Setup) => Promise<Request>>> = {
  'GET /api/account': exampleOf('GET /api/account'),
  'PUT /api/users': exampleOf('PUT /api/users'),
  // The same one, because another credential would end the token.
  [POLL]: (setup) => {
    poll ??= pollOf(setup);
    return poll;
  },
};

let poll: Promise<Request> | undefined;
async function pollOf(setup: Setup): Promise<Request> {
  const id = integrationIdOf(await setup.openParameter());
  const { token } = await setup.module(id);
  const path = POLL.replace('{id}', String(id)).replace('GET ', '');
  const { headers } = await setup.gatehouse.call('GET', path, { token });
  return { path, token, headers: { 'If-None-Match': String(headers.etag) } };
}

function exampleOf(route: string) {
  const example = REQUESTS.find((each) => each.route === route);
  return async (setup: Setup) => (await example?.prepare(setup))?.request as Request;
}

/** `npm run bench`: compares functions with a handler that makes the same calls by hand. */
export const command = defineCommand({
  usage: 'npm run bench',
  help: `Compares the processor time of three functions with a handler that makes the same calls to
DynamoDB, signed by hand, and nothing else: in turns, each in fresh processes, on this machine.`,
  options: {},
  statuses: {
    within: [
      0,
      `a first call takes at most ${MOST.cold} times the floor, a later one ${MOST.warm}`,
    ],
    failed: [1, 'one takes longer, or a measurement failed'],
  },
  async run() {
    const state = openMemoryState();
    const rows = await measure(join(state.assemblies, 'assembly')).finally(state.close);
    const head = ['CPU ms', 'cold', 'floor', 'ratio', 'warm', 'floor', 'ratio'];
    print(
      table(
        head,
        rows.map(({ route, values }) => [route, ...values.map(digits)]),
      ),
    );
    const isWithin = rows.every(
      ({ values: [, , cold = 0, , , warm = 0] }) => cold <= MOST.cold && warm <= MOST.warm,
    );
    return isWithin ? 'within' : 'failed';
  },
});

async function measure(assembly: string) {
  const { synthesize } = await import('../../infra/local/stack/synthesize.ts');
  await synthesize(assembly, { checked: false, example: true });
  const calls: object[] = [];
  const gatehouse = await launch({
    assembly,
    breaksData: true,
    async intercept({ operation, input }, forward) {
      calls.push({ target: `DynamoDB_20120810.${operation}`, body: JSON.stringify(input) });
      return forward();
    },
  });
  let event: unknown;
  const api = { routes: new Map(routes.map(({ route }) => [route, route])), cors: undefined };
  const receive = async (_: string, received: unknown) => {
    event = received;
    return { statusCode: 200 };
  };
  const gateway = await startGateway(0, () => api, receive, print);
  const setup = await openSetup(gatehouse);
  const rows = [];
  for (const [route, prepare] of Object.entries(ROWS)) {
    const config = gatehouse.cloud.functions.find(({ name }) => name === route) as FunctionConfig;
    const environment = environmentOf(config, OPERATOR.accessKeyId);
    const costs: Record<'real' | 'floor', Cost[]> = { real: [], floor: [] };
    for (let instance = 0; instance < INSTANCES; instance++) {
      const events: unknown[] = [];
      for (let n = 0; n <= WARM; n++) {
        const { path, token, body, headers } = await prepare(setup);
        await fetch(gateway.url + path, {
          method: route.split(' ')[0] as string,
          headers: {
            'Content-Type': 'application/json',
            ...headers,
            Authorization: `Bearer ${token}`,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        } as RequestInit);
        events.push(event);
      }
      calls.length = 0;
      costs.real.push(await costOf(config.file, events, environment, route === POLL ? 304 : 200));
      // The first call also reads keys and the format. DynamoDB does not repeat a transaction that
      // has the same token.
      const each = Math.floor(calls.length / events.length);
      const first = calls.length - each * WARM;
      const startOf = (n: number) => (n === 0 ? 0 : first + (n - 1) * each);
      const same = events.map((_, n) => ({ calls: calls.slice(startOf(n), startOf(n + 1)) }));
      costs.floor.push(
        await costOf(join(import.meta.dirname, 'floor.mjs'), same, environment, 200),
      );
    }
    const values = (['cold', 'warm'] as const).flatMap((when) => {
      const real = median(costs.real.map((cost) => cost[when]));
      const floor = median(costs.floor.map((cost) => cost[when]));
      return [real, floor, real / floor];
    });
    rows.push({ route, values });
  }
  await gateway.stop(0);
  await gatehouse.stop();
  return rows;
}

interface Cost {
  readonly cold: number;
  readonly warm: number;
}

/** The CPU time of the first call of a fresh process, with its start, and of a later call. */
async function costOf(
  bundle: string,
  events: unknown[],
  env: Record<string, string>,
  status: number,
): Promise<Cost> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'child.mjs')], {
    env,
    stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
  });
  child.stdin?.end(JSON.stringify({ bundle, events }));
  const report = JSON.parse(await text(child.stdio[3] as NodeJS.ReadableStream));
  const failed = report.find((each: { statusCode: number }) => each.statusCode !== status);
  if (failed) throw new Error(`${bundle} responded ${failed.statusCode}`);
  const [first, last] = [report[0].cpuMs, report.at(-1).cpuMs];
  return { cold: first, warm: (last - report[WARM / 2].cpuMs) / (WARM / 2) };
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] as number;
