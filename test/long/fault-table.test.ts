import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, type Fault, openFaults } from '../../infra/local/aws/faults.ts';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { type Route, routes } from '../../routes.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import {
  CHANGES,
  CREATION_WITH_PASSWORD,
  type ExampleRequest,
  type Prepared,
  READS,
} from '../support/instance/example-requests.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact } from '../support/instance/items.ts';
import type { Gatehouse, Received } from '../support/instance/launch.ts';
import { mailTable } from '../support/instance/mail-trials.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';

/*
 * The response of each route to each fault. docs/calls.md is a snapshot of the results, which
 * `LONG=1 npx vitest run test/long/fault-table.test.ts -u` updates.
 */

/**
 * A fault in the first of the affected calls or in all of them, and the limit for the response in
 * seconds.
 */
interface Injection {
  readonly fault: Fault;
  readonly once: boolean;
  readonly within: number;
}
const once = (...faults: Fault[]): Injection[] =>
  faults.map((fault) => ({ fault, once: true, within: 5 }));
/** A function times out after 10 seconds. */
const always = (...faults: Fault[]): Injection[] =>
  faults.map((fault) => ({ fault, once: false, within: 10 }));

interface Trial {
  readonly section: string;
  readonly injection: Injection;
  readonly change: ExampleRequest;
  readonly concerns: (call: AwsCall, prepared: Prepared) => boolean;
  /** Trials with the same key run in turn, because their calls cannot be distinguished. */
  readonly serialKey?: string | undefined;
}

const active = new Set<{
  faults: ReturnType<typeof openFaults>;
  concerns: (call: AwsCall) => boolean;
  calls: number;
}>();

let gatehouse: Gatehouse;
let setup: Setup;
beforeAll(async () => {
  gatehouse = await startGatehouse({
    async intercept(call, forward) {
      const affected = [...active].find(({ concerns }) => concerns(call));
      if (!affected) return forward();
      affected.calls++;
      return affected.faults.intercept(call, forward);
    },
  });
  setup = await openSetup(gatehouse);
  // Its creation is a request, which must not meet a fault.
  await setup.openParameter();
});
afterAll(() => gatehouse.stop());

const TRANSACTION = 'The transaction that makes the change';
const READ = 'A read that the decision depends on';
const KMS = 'All calls to KMS';
const TABLE = 'All calls to DynamoDB by routes that only read';
const SECTIONS = [TRANSACTION, READ, KMS, TABLE];
/** Faults after which the function cannot know whether the change was made. */
const UNKNOWN = new Set<Fault>(['error-after', 'lost', 'half', 'late', 'slow', 'kill']);

const violations: string[] = [];
const results: { section: string; injection: Injection; line: string; route: string }[] = [];

async function attempt({ section, injection, change, concerns }: Trial): Promise<void> {
  const { fault, within } = injection;
  const prepared = await change.prepare(setup);
  const faults = openFaults();
  faults.inject([{ fault, ...(injection.once && { nth: 1 }) }]);
  const trial = {
    faults,
    concerns: (call: AwsCall) => call.functionName === change.route && concerns(call, prepared),
    calls: 0,
  };
  active.add(trial);
  const { status, headers, text } = await prepared.send().finally(() => active.delete(trial));
  const seconds = durationOf(headers['apigw-requestid']);
  const times = await prepared.countChanges();

  const done = status === change.success;
  const isUnknown = !done && UNKNOWN.has(fault) && section === TRANSACTION;
  const answered = fault === 'kill' ? status === 500 : done || isUnavailable(status, headers);
  const effect = change.hidesOutcome || isUnknown ? times <= 1 : times === (done ? 1 : 0);
  if (!answered || !effect || seconds > within) {
    violations.push(
      `${change.route}: ${fault} on ${section}: ${status} ${text}, made ${times} times, ` +
        `after ${seconds} s`,
    );
  }

  const made = change.hidesOutcome
    ? ''
    : isUnknown
      ? 'made or not'
      : times === 1
        ? 'made'
        : 'not made';
  const sent =
    change.hidesOutcome || trial.calls < 2 ? '' : injection.once ? 'yes' : 'until it gives up';
  const outcome = done ? 'success' : status;
  const line =
    `| ${fault} | ${injection.once ? 'once' : 'always'} | ${outcome} | ${made} | ${sent} | ` +
    `${within} s |`;
  results.push({ section, injection, line, route: change.route });
}

/** In seconds by the log of its function; 0 if the function was killed. */
function durationOf(requestId = ''): number {
  const line = gatehouse.lines.find(
    (text) => text.includes(requestId) && text.includes('milliseconds'),
  );
  return line ? JSON.parse(line).milliseconds / 1000 : 0;
}

const isUnavailable = (status: number, headers: Received['headers']) =>
  status === 503 && headers['retry-after'] === '1';

/** Trials that run concurrently. Each occupies an instance of its function. */
const LANES = 14;

async function attemptAll(trials: readonly Trial[]): Promise<void> {
  const queues = [...Map.groupBy(trials, (trial) => trial.serialKey ?? trial).values()];
  const lane = async () => {
    for (let queue = queues.shift(); queue; queue = queues.shift())
      for (const trial of queue) await attempt(trial);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(violations).toEqual([]);
}

const product = (
  injections: readonly Injection[],
  changes: readonly ExampleRequest[],
  rest: Pick<Trial, 'section' | 'concerns'>,
) =>
  injections.flatMap((injection) =>
    changes.map((change): Trial => ({ ...rest, injection, change })),
  );

const names = (call: AwsCall, item: string): boolean =>
  actionsOf(call).some(({ pk, sk }) =>
    item.endsWith('*') ? pk.startsWith(item.slice(0, -1)) : `${pk}/${sk}` === item,
  );

const OF_TRANSACTIONS: Fault[] = [
  ...(['late', 'conflict', 'throttle', 'error-before', 'reset'] as const),
  ...(['error-after', 'lost', 'half'] as const),
];
const transactions = product(
  [...always('slow', ...OF_TRANSACTIONS), ...once(...OF_TRANSACTIONS, 'kill')],
  CHANGES,
  {
    section: TRANSACTION,
    concerns: (call, { item }) => call.operation === 'TransactWriteItems' && names(call, item),
  },
);

const reads = product([...always('late', 'error-before'), ...once('reset', 'half')], CHANGES, {
  section: READ,
  concerns: (call, { user }) => call.operation === 'BatchGetItem' && names(call, user),
});

/** Faults in all calls of a route to one service. */
const everything = (
  section: string,
  service: AwsCall['service'],
  changes: readonly ExampleRequest[],
) =>
  product([...always('late', 'throttle', 'error-before'), ...once('reset')], changes, {
    section,
    concerns: (call) => call.service === service,
    // A route can call several services.
  }).map((trial) => ({ ...trial, serialKey: trial.change.route }));

const changesThat = (uses: (route: Route) => unknown) =>
  CHANGES.filter(({ route }) => routes.some((each) => each.route === route && uses(each)));

describe('under faults, the service', () => {
  it('responds in time to every change, and makes it at most once', () => {
    // The key of a new reset item is not known in advance.
    const serialKey = ({ route }: ExampleRequest) => (route.endsWith('/init') ? route : undefined);
    return attemptAll(
      [...transactions, ...reads].map((trial) => ({
        ...trial,
        serialKey: serialKey(trial.change),
      })),
    );
  });

  it('responds in time on every route that calls KMS', () => {
    // The creation of a user calls KMS if it has a password.
    const withPassword = (change: ExampleRequest) =>
      change.route === CREATION_WITH_PASSWORD.route ? CREATION_WITH_PASSWORD : change;
    const changes = changesThat(({ permissions }) => permissions.keys).map(withPassword);
    return attemptAll(everything(KMS, 'KMS', changes));
  });

  // Afterwards: the change that applies a plan makes one first, which must not meet a fault.
  it('responds in time on every route that only reads', () =>
    attemptAll(everything(TABLE, 'DynamoDB', READS)));

  it('leaves the table intact', () => expectIntact(gatehouse));
});

it('docs/calls.md matches the results', () =>
  expect(documentOf()).toMatchFileSnapshot('../../docs/calls.md'));

function documentOf(): string {
  const rank = ({ fault, once }: Injection) => 2 * FAULTS.indexOf(fault) + (once ? 0 : 1);
  const order = routes.map(({ route }): string => route);
  const sections = SECTIONS.map((section) => {
    const of = results.filter((each) => each.section === section);
    const all = new Set(of.map(({ route }) => route));
    const sorted = of.toSorted(
      (a, b) =>
        rank(a.injection) - rank(b.injection) || order.indexOf(a.route) - order.indexOf(b.route),
    );
    const lines = [...Map.groupBy(sorted, ({ line }) => line)].map(([line, same]) => {
      const which = same.map(({ route }) => `\`${route}\``);
      const isMost = which.length > all.size / 2 && which.length > 3;
      return `${line} ${isMost ? allBut(all, same) : which.join('<br>')} |`;
    });
    return (
      `### ${section}\n\n| fault | | response | change | call repeated | within | routes ` +
      `|\n|---|---|---|---|---|---|---|\n${lines.join('\n')}\n`
    );
  });
  const document = readFileSync(join(import.meta.dirname, '../../docs/calls.md'), 'utf8');
  return withGenerated(document, { results: sections.join('\n').trimEnd(), mails: mailTable() });
}

function allBut(all: ReadonlySet<string>, same: readonly { route: string }[]): string {
  const others = [...all].filter((each) => same.every(({ route }) => route !== each)).length;
  return others === 0 ? `all ${all.size}` : `the other ${same.length}`;
}
