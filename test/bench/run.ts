import { type IOType, spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { print } from '../../infra/commands/command-line.ts';
import { defineCommand } from '../../infra/commands/define-command.ts';
import { environmentOf, type FunctionConfig } from '../../infra/local/lambda/instance.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { integrationIdOf } from '../../lib/table/keys.ts';
import { digits, table } from '../support/costs/generated-tables.ts';
import { launch, type Sent } from '../support/instance/launch.ts';
import { openSetup } from '../support/instance/setup.ts';

const POLL = 'GET /api/utm-integrations/{id}/module';
const ROUTES = ['GET /api/account', 'PUT /api/users', POLL];
type PathAndSent = Sent & { path: string };
const INSTANCES = 5;
/** Calls of each instance after its first one, the later half of which is measured. */
const WARM = 60;
/** How often the processor time of the floor a first call and a later one may take. */
const MOST = { cold: 1.3, warm: 1.4 };

export const command = defineCommand({
  usage: 'npm run bench',
  help: `Compares the processor time of three functions with a handler that makes the same calls to
DynamoDB, signed by hand, and nothing else: in turns, each in fresh processes, on this machine.`,
  options: {},
  statuses: {
    within: [0, `no ratio is above ${MOST.cold} for a first call or ${MOST.warm} for a later one`],
    failed: [1, 'one takes longer, or a measurement failed'],
  },
  async run() {
    const state = openMemoryState();
    const rows = await measure(join(state.assemblies, 'assembly')).finally(state.close);
    const lines = rows.map(([route, ...values]) => [route, ...values.map(digits)]);
    print(table(['CPU ms', 'cold', 'floor', 'ratio', 'warm', 'floor', 'ratio'], lines));
    return rows.every((row) => row[3] <= MOST.cold && row[6] <= MOST.warm) ? 'within' : 'failed';
  },
});

async function measure(assembly: string) {
  const { synthesizeLocal } = await import('../../infra/stack/synthesize-app.ts');
  await synthesizeLocal(assembly, { checked: false, example: true });
  const calls: object[] = [];
  const gatehouse = await launch({
    assembly,
    breaksData: true,
    async intercept({ service, operation, input }, forward) {
      const target = `${service === 'KMS' ? 'TrentService' : 'DynamoDB_20120810'}.${operation}`;
      calls.push({ service: service.toLowerCase(), target, body: JSON.stringify(input) });
      return forward();
    },
  });
  const setup = await openSetup(gatehouse);
  const requestTo = async (route: string): Promise<PathAndSent> => {
    const { user, token } = await setup.account();
    if (route.startsWith('GET')) return { path: '/api/account', token };
    const { id, login, email } = (await setup.account()).user;
    const body = { id, login, email, firstName: 'Grace', authorities: user.authorities };
    return { path: '/api/users', token, body };
  };
  // Always the same one, because another credential would end its token.
  const id = integrationIdOf(await setup.openParameter());
  const poll = { path: `/api/utm-integrations/${id}/module`, ...(await setup.module(id)) };
  const { etag } = (await gatehouse.call('GET', poll.path, poll)).headers;
  const rows = [];
  for (const route of ROUTES) {
    const config = gatehouse.cloud.functions.find(({ name }) => name === route) as FunctionConfig;
    const env = environmentOf(config, OPERATOR.accessKeyId);
    const costs: number[][] = [];
    for (let instance = 0; instance < INSTANCES; instance++) {
      const events: object[] = [];
      // Reads are repeated with their token, as clients do; each change is another one.
      const read = route === POLL ? poll : await requestTo(route);
      while (events.length <= WARM)
        events.push(eventOf(route, route.startsWith('GET') ? read : await requestTo(route), etag));
      calls.length = 0;
      const [cold, warm] = await costOf(config.file, events, env, route === POLL ? 304 : 200);
      // The first call also reads keys and the format. DynamoDB makes a transaction once per token.
      const each = Math.floor(calls.length / events.length);
      const first = calls.splice(0, calls.length - each * WARM);
      const same = [first, ...Array.from({ length: WARM }, () => calls.splice(0, each))];
      costs.push([cold, warm, ...(await costOf('./floor.mjs', same, env, 200))]);
    }
    const median = (column: number) =>
      costs.map((row) => row[column] ?? 0).toSorted((a, b) => a - b)[INSTANCES >> 1] ?? 0;
    const [cold, warm, coldMin, warmMin] = [median(0), median(1), median(2), median(3)];
    rows.push([route, cold, coldMin, cold / coldMin, warm, warmMin, warm / warmMin] as const);
  }
  await gatehouse.stop();
  return rows;
}

/** What API Gateway sends, as far as functions read it. */
function eventOf(routeKey: string, { path, token, body }: PathAndSent, etag = '') {
  const requestContext = { requestId: 'bench', timeEpoch: 0, http: { sourceIp: '127.0.0.1' } };
  const authorization = `Bearer ${token}`;
  const headers = { 'content-type': 'application/json', authorization, 'if-none-match': etag };
  const pathParameters = { id: /\d+/.exec(path)?.[0] };
  const event = { routeKey, rawPath: path, rawQueryString: '', headers, pathParameters };
  return { ...event, requestContext, body: body && JSON.stringify(body) };
}

/** The CPU time of the first call of a fresh process, with its start, and of a later call. */
async function costOf(bundle: string, events: object[], env: NodeJS.ProcessEnv, status: number) {
  const stdio: IOType[] = ['pipe', 'ignore', 'inherit', 'pipe'];
  const child = spawn(process.execPath, [join(import.meta.dirname, 'child.mjs')], { env, stdio });
  child.stdin?.end(JSON.stringify({ bundle, events, status }));
  const report = JSON.parse(await text(child.stdio[3] as NodeJS.ReadableStream));
  return [report[0], (report[WARM] - report[WARM / 2]) / (WARM / 2)] as [number, number];
}
