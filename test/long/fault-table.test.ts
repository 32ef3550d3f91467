import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, type Fault, openFaults } from '../../infra/local/aws/faults.ts';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { type Route, routes } from '../../routes.ts';
import {
  CHANGES,
  type Change,
  CREATION_WITH_PASSWORD,
  openStage,
  type Prepared,
  type Stage,
} from '../support/changes.ts';
import { type Gatehouse, type Received, startGatehouse } from '../support/gatehouse.ts';
import { expectIntact } from '../support/intact.ts';

/*
 * The response of each route to each fault. docs/faults.md is a snapshot of the results, which
 * `LONG=1 npx vitest run test/long/fault-table.test.ts -u` updates.
 */

/** A fault in the first of the affected calls or in all of them, and the limit for the response in seconds. */
interface Injection {
  readonly fault: Fault;
  readonly once: boolean;
  readonly within: number;
}
const once = (...faults: Fault[]): Injection[] => faults.map((fault) => ({ fault, once: true, within: 5 }));
/** A function times out after 10 seconds. */
const always = (...faults: Fault[]): Injection[] => faults.map((fault) => ({ fault, once: false, within: 10 }));

/** One request under one fault. */
interface Trial {
  readonly section: string;
  readonly injection: Injection;
  readonly change: Change;
  readonly concerns: (call: AwsCall, prepared: Prepared) => boolean;
  /** Trials with the same key run one after another, because their calls cannot be distinguished. */
  readonly serialKey?: string | undefined;
}

/** The trials in progress. */
const active = new Set<{
  faults: ReturnType<typeof openFaults>;
  concerns: (call: AwsCall) => boolean;
  calls: number;
}>();

let gatehouse: Gatehouse;
let stage: Stage;
let parameter: number;
beforeAll(async () => {
  gatehouse = await startGatehouse({
    async intercept(call, make) {
      const affected = [...active].find(({ concerns }) => concerns(call));
      if (!affected) return make();
      affected.calls++;
      return affected.faults.intercept(call, make);
    },
  });
  stage = await openStage(gatehouse);
  parameter = await stage.openParameter();
});
afterAll(() => gatehouse.stop());

const TRANSACTION = 'The transaction that makes the change';
const READ = 'A read that the change is decided on';
const KMS = 'Everything that a row asks of KMS';
const SES = 'Everything that a row asks of SES';
const TABLE = 'Everything that a row asks of the table, where it only reads';
const SECTIONS = [TRANSACTION, READ, KMS, SES, TABLE];
/** Faults after which the function cannot know whether the change was made. */
const UNKNOWN = new Set<Fault>(['error-after', 'lost', 'half', 'late', 'slow', 'kill']);

/** Incorrect responses and effects. */
const violations: string[] = [];
/** The results: for each route, a line of docs/faults.md. */
const results: { section: string; injection: Injection; line: string; on: string }[] = [];

async function attempt({ section, injection, change, concerns }: Trial): Promise<void> {
  const { fault, within } = injection;
  const prepared = await change.prepare(stage);
  const faults = openFaults();
  faults.inject([{ fault, ...(injection.once && { nth: 1 }) }]);
  const trial = {
    faults,
    concerns: (call: AwsCall) => call.functionName === change.on && concerns(call, prepared),
    calls: 0,
  };
  active.add(trial);
  const { status, headers, text } = await prepared.send().finally(() => active.delete(trial));
  const seconds = durationOf(headers['apigw-requestid']);
  const times = await prepared.times();

  const done = status === change.success;
  const isUnknown = !done && UNKNOWN.has(fault) && section === TRANSACTION;
  const answered = fault === 'kill' ? status === 500 : done || isUnavailable(status, headers);
  const effect = change.silent || isUnknown ? times <= 1 : times === (done ? 1 : 0);
  if (!answered || !effect || seconds > within) {
    violations.push(`${change.on}: ${fault} on ${section}: ${status} ${text}, made ${times} times, after ${seconds} s`);
  }

  const made = change.silent ? '' : isUnknown ? 'made or not' : times === 1 ? 'made' : 'not made';
  const sent = change.silent || trial.calls < 2 ? '' : injection.once ? 'again' : 'until it gives up';
  const outcome = done ? 'success' : status;
  const line = `| ${fault} | ${injection.once ? 'once' : 'always'} | ${outcome} | ${made} | ${sent} | ${within} s |`;
  results.push({ section, injection, line, on: change.on });
}

/** The duration of a request in seconds according to the log of its function; 0 if the function was killed. */
function durationOf(requestId = ''): number {
  const line = gatehouse.lines.find((text) => text.includes(requestId) && text.includes('milliseconds'));
  return line ? JSON.parse(line).milliseconds / 1000 : 0;
}

const isUnavailable = (status: number, headers: Received['headers']) =>
  status === 503 && headers['retry-after'] === '1';

/** Trials that run concurrently. Each occupies an instance of its function. */
const LANES = 14;

async function attemptAll(trials: readonly Trial[]): Promise<void> {
  const queues = [...Map.groupBy(trials, (trial) => trial.serialKey ?? trial).values()];
  const lane = async () => {
    for (let queue = queues.shift(); queue; queue = queues.shift()) for (const trial of queue) await attempt(trial);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(violations).toEqual([]);
}

const product = (
  injections: readonly Injection[],
  rows: readonly Change[],
  rest: Pick<Trial, 'section' | 'concerns'>,
) => injections.flatMap((injection) => rows.map((change): Trial => ({ ...rest, injection, change })));

const names = (call: AwsCall, item: string): boolean =>
  actionsOf(call).some(({ pk, sk }) =>
    item.endsWith('*') ? pk.startsWith(item.slice(0, -1)) : `${pk}/${sk}` === item,
  );

const transactions = product(
  [
    ...always('slow', 'late', 'conflict', 'throttle', 'error-before', 'reset', 'error-after', 'lost', 'half'),
    ...once('late', 'conflict', 'throttle', 'error-before', 'reset', 'error-after', 'lost', 'half', 'kill'),
  ],
  CHANGES,
  {
    section: TRANSACTION,
    concerns: (call, { item }) => call.operation === 'TransactWriteItems' && names(call, item),
  },
);

const reads = product([...always('late', 'error-before'), ...once('reset', 'half')], CHANGES, {
  section: READ,
  concerns: (call, { item, read = item }) => call.operation === 'GetItem' && names(call, read),
});

/** Faults in all calls of a route to one service. */
const everything = (section: string, service: AwsCall['service'], rows: readonly Change[]) =>
  product([...always('late', 'throttle', 'error-before'), ...once('reset')], rows, {
    section,
    concerns: (call) => call.service === service,
    // A route can call several services.
  }).map((trial) => ({ ...trial, serialKey: trial.change.on }));

const changesThat = (use: (row: Route) => unknown) =>
  CHANGES.filter(({ on }) => routes.some((row) => row.route === on && use(row)));

/** The routes that change nothing. */
const readers = routes
  .filter(({ route }) => CHANGES.every((change) => change.on !== route))
  .map(({ route }): Change => {
    const [method = '', path = ''] = route.split(' ');
    return {
      on: route,
      success: 200,
      repeated: 200,
      silent: true,
      async prepare() {
        const { token } = await stage.account();
        const id = route.includes('confs') ? parameter : await stage.integration();
        const query = route.endsWith('confs') ? `?integrationId.equals=${Math.floor(id / 1_000_000)}` : '';
        const url = path.replace('{login}', 'admin').replace('{id}', String(id)) + query;
        return { item: '', send: () => gatehouse.call(method, url, { token }), times: async () => 0 };
      },
    };
  });

describe('under faults, the service', { timeout: 120_000 }, () => {
  it('responds in time on every route that changes something, and makes the change at most once', () => {
    // The key of a new reset item is not known in advance.
    const serialKey = ({ on }: Change) => (on.endsWith('/init') ? on : undefined);
    return attemptAll([...transactions, ...reads].map((trial) => ({ ...trial, serialKey: serialKey(trial.change) })));
  });

  it('responds in time on every route that only reads, and on those that call KMS or SES', () => {
    // The creation of a user calls KMS if it has a password, and SES if it has none.
    const withPassword = (change: Change) =>
      change.on === CREATION_WITH_PASSWORD.on ? CREATION_WITH_PASSWORD : change;
    return attemptAll([
      ...everything(KMS, 'KMS', changesThat(({ permissions }) => permissions.keys).map(withPassword)),
      ...everything(
        'Everything that a row asks of SES',
        'SES',
        changesThat(({ permissions }) => permissions.mail),
      ),
      ...everything(TABLE, 'DynamoDB', readers),
    ]);
  });

  it('leaves the table intact', () => expectIntact(gatehouse));
});

it('docs/faults.md matches the results', () => expect(documentOf()).toMatchFileSnapshot('../../docs/faults.md'));

function documentOf(): string {
  const rank = ({ fault, once }: Injection) => 2 * FAULTS.indexOf(fault) + (once ? 0 : 1);
  const order = routes.map(({ route }): string => route);
  const sections = SECTIONS.map((section) => {
    const of = results.filter((each) => each.section === section);
    const rows = new Set(of.map(({ on }) => on));
    const sorted = of.toSorted(
      (a, b) => rank(a.injection) - rank(b.injection) || order.indexOf(a.on) - order.indexOf(b.on),
    );
    const lines = [...Map.groupBy(sorted, ({ line }) => line)].map(([line, same]) => {
      const which = same.map(({ on }) => `\`${on}\``);
      return `${line} ${which.length > rows.size / 2 && which.length > 3 ? allBut(rows, same) : which.join('<br>')} |`;
    });
    return `## ${section}\n\n| fault | | answer | the change | sent | within | rows |\n|---|---|---|---|---|---|---|\n${lines.join('\n')}\n`;
  });
  return [HEAD, ...sections].join('\n');
}

function allBut(rows: ReadonlySet<string>, same: readonly { on: string }[]): string {
  const others = [...rows].filter((row) => same.every(({ on }) => on !== row)).length;
  return others === 0 ? `all ${rows.size}` : `the other ${same.length}`;
}

const HEAD = `# What goes wrong, and what is answered

Written by \`test/long/fault-table.test.ts\` from what it sees. Every row of the API is called while a call to AWS of its goes
wrong, the first one of its kind or all of them. No fault makes an answer that is not true: a success says that the change
was made, once; a refusal (4xx) is never the answer to a fault; 503 carries \`Retry-After\`, and leaves the change made
once or not at all; there is an answer before the function's time is over. Only who is killed cannot answer: then it is
API Gateway that says 500.

A column is empty where the answer is not to tell: a login goes on without a new hash, and who asks for a new password
does not learn whether the address is known.

| fault | what happens to the call |
|---|---|
| conflict | refused, because another transaction is under way on an item |
| throttle | refused, because there were too many |
| error-before, error-after | answered 500; not made, or made all the same |
| reset, lost | the connection breaks; before it is made, or before its answer |
| half | made, and the connection breaks in the middle of the answer |
| late, slow | answered too late; made at once, or made late too |
| kill | made, and the function that called ends there and then |

Whoever wants to watch: \`npm start\`, and rules in \`.local/faults.json\` ([operating.md](operating.md#faults-on-purpose)).
`;
