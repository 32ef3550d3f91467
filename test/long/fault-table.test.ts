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
 * What each row answers to each fault. docs/faults.md is written from what is seen here, and must say it:
 * `LONG=1 npx vitest run test/long/fault-table.test.ts -u` writes it.
 */

/** A fault that strikes the first of certain calls or all of them, and the seconds within which there must be an answer. */
interface Strike {
  readonly fault: Fault;
  readonly once: boolean;
  readonly within: number;
}
const once = (...faults: Fault[]): Strike[] => faults.map((fault) => ({ fault, once: true, within: 5 }));
/** No longer than a function may take. */
const always = (...faults: Fault[]): Strike[] => faults.map((fault) => ({ fault, once: false, within: 10 }));

/** One request under one fault. */
interface Trial {
  readonly struck: string;
  readonly strike: Strike;
  readonly change: Change;
  readonly concerns: (call: AwsCall, prepared: Prepared) => boolean;
  /** Trials whose calls cannot be told apart take turns. */
  readonly turn?: string | undefined;
}

/** The trials that are under way. */
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
      const struck = [...active].find(({ concerns }) => concerns(call));
      if (!struck) return make();
      struck.calls++;
      return struck.faults.intercept(call, make);
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
/** It may have been made all the same, and nobody can know. */
const UNKNOWN = new Set<Fault>(['error-after', 'lost', 'half', 'late', 'slow', 'kill']);

/** What must not be seen. */
const wrong: string[] = [];
/** What is seen: the line of the document that says so, and of which row. */
const seen: { struck: string; strike: Strike; line: string; on: string }[] = [];

async function attempt({ struck, strike, change, concerns }: Trial): Promise<void> {
  const { fault, within } = strike;
  const prepared = await change.prepare(stage);
  const faults = openFaults();
  faults.inject([{ fault, ...(strike.once && { nth: 1 }) }]);
  const trial = {
    faults,
    concerns: (call: AwsCall) => call.functionName === change.on && concerns(call, prepared),
    calls: 0,
  };
  active.add(trial);
  const { status, headers, text } = await prepared.send().finally(() => active.delete(trial));
  const seconds = takenBy(headers['apigw-requestid']);
  const times = await prepared.times();

  const done = status === change.success;
  const perhaps = !done && UNKNOWN.has(fault) && struck === TRANSACTION;
  const answered = fault === 'kill' ? status === 500 : done || isUnavailable(status, headers);
  const effect = change.silent || perhaps ? times <= 1 : times === (done ? 1 : 0);
  if (!answered || !effect || seconds > within) {
    wrong.push(`${change.on}: ${fault} on ${struck}: ${status} ${text}, made ${times} times, after ${seconds} s`);
  }

  const made = change.silent ? '' : perhaps ? 'made or not' : times === 1 ? 'made' : 'not made';
  const sent = change.silent || trial.calls < 2 ? '' : strike.once ? 'again' : 'until it gives up';
  const answer = done ? 'success' : status;
  const line = `| ${fault} | ${strike.once ? 'once' : 'always'} | ${answer} | ${made} | ${sent} | ${within} s |`;
  seen.push({ struck, strike, line, on: change.on });
}

/** The seconds that a function took for a request, as it says itself: 0 when it was killed. */
function takenBy(requestId = ''): number {
  const line = gatehouse.lines.find((text) => text.includes(requestId) && text.includes('milliseconds'));
  return line ? JSON.parse(line).milliseconds / 1000 : 0;
}

const isUnavailable = (status: number, headers: Received['headers']) =>
  status === 503 && headers['retry-after'] === '1';

/** So many at a time: each holds an instance of its function. */
const LANES = 14;

async function attemptAll(trials: readonly Trial[]): Promise<void> {
  const queues = [...Map.groupBy(trials, (trial) => trial.turn ?? trial).values()];
  const lane = async () => {
    for (let queue = queues.shift(); queue; queue = queues.shift()) for (const trial of queue) await attempt(trial);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(wrong).toEqual([]);
}

const product = (strikes: readonly Strike[], rows: readonly Change[], rest: Pick<Trial, 'struck' | 'concerns'>) =>
  strikes.flatMap((strike) => rows.map((change): Trial => ({ ...rest, strike, change })));

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
    struck: TRANSACTION,
    concerns: (call, { item }) => call.operation === 'TransactWriteItems' && names(call, item),
  },
);

const reads = product([...always('late', 'error-before'), ...once('reset', 'half')], CHANGES, {
  struck: READ,
  concerns: (call, { item, read = item }) => call.operation === 'GetItem' && names(call, read),
});

/** All that a row asks of a service. */
const everything = (struck: string, service: AwsCall['service'], rows: readonly Change[]) =>
  product([...always('late', 'throttle', 'error-before'), ...once('reset')], rows, {
    struck,
    concerns: (call) => call.service === service,
    // A row can need several services.
  }).map((trial) => ({ ...trial, turn: trial.change.on }));

const changesThat = (use: (row: Route) => unknown) =>
  CHANGES.filter(({ on }) => routes.some((row) => row.route === on && use(row)));

/** The rows that change nothing. */
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

describe('in time and never wrongly', { timeout: 120_000 }, () => {
  it('answers every row that changes something, and makes its change once or not at all', () => {
    // The item of a new reset key is not known before.
    const turn = ({ on }: Change) => (on.endsWith('/init') ? on : undefined);
    return attemptAll([...transactions, ...reads].map((trial) => ({ ...trial, turn: turn(trial.change) })));
  });

  it('answers every row that reads, and those that need KMS or SES', () => {
    // Of two forms of the row, each needs one of the services.
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

  it('leaves an intact table', () => expectIntact(gatehouse));
});

it('as docs/faults.md tells', () => expect(documentOf()).toMatchFileSnapshot('../../docs/faults.md'));

function documentOf(): string {
  const rank = ({ fault, once }: Strike) => 2 * FAULTS.indexOf(fault) + (once ? 0 : 1);
  const order = routes.map(({ route }): string => route);
  const sections = SECTIONS.map((struck) => {
    const of = seen.filter((each) => each.struck === struck);
    const rows = new Set(of.map(({ on }) => on));
    const sorted = of.toSorted((a, b) => rank(a.strike) - rank(b.strike) || order.indexOf(a.on) - order.indexOf(b.on));
    const lines = [...Map.groupBy(sorted, ({ line }) => line)].map(([line, same]) => {
      const which = same.map(({ on }) => `\`${on}\``);
      return `${line} ${which.length > rows.size / 2 && which.length > 3 ? allBut(rows, same) : which.join('<br>')} |`;
    });
    return `## ${struck}\n\n| fault | | answer | the change | sent | within | rows |\n|---|---|---|---|---|---|---|\n${lines.join('\n')}\n`;
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
