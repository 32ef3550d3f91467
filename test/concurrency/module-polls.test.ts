import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { adoptTable } from '../../lib/operations/restore/adopt-table.ts';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf, restoreItems } from '../support/instance/items.ts';
import { LONG } from '../support/instance/long.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { randomNumbers, seed } from '../support/model/seed.ts';

/*
 * Modules that poll while people change what they run, while calls to the table fail or succeed
 * without a response, responses get lost, modules are reset to an earlier state or restarted, and
 * the table is restored from a backup.
 */

const POLLS = LONG ? 100_000 : 800;
const LANES = 4;
const RESTORES = LONG ? 20 : 1;
const POLLS_PER_RESTORE = POLLS / RESTORES;

const random = randomNumbers(seed);
/** How many calls of functions were disturbed so far. */
let disturbed = 0;
let isCalm = false;
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    const isWrite = /Write|Update/.test(call.operation);
    if (isCalm || !call.functionName || !isWrite || random() > 0.05) return forward();
    disturbed++;
    if (random() < 0.5) await forward();
    return { status: 500, body: { __type: 'InternalServerError' } };
  },
});

/** The calls that are on their way; none while the table is restored. */
let inFlight = 0;
let restoring: Promise<void> | undefined;
/** How many restores there were: each ends all sessions and deletes all credentials. */
let restores = 0;
let setup: Setup;

/** Waits for the end of a restore before it makes a call. */
async function unlessRestoring<T>(call: () => Promise<T>): Promise<T> {
  while (restoring) await restoring;
  inFlight++;
  try {
    return await call();
  } finally {
    inFlight--;
  }
}

/** Restores the table from a backup that some polls have followed, and adopts it. */
async function restore(backup: Awaited<ReturnType<typeof itemsOf>>): Promise<void> {
  while (inFlight > 0) await wait(1);
  isCalm = true;
  const { cloud, table } = gatehouse;
  await restoreItems(cloud, backup);
  const { endpoint, region, tableName } = cloud;
  const client = scannerClient({ endpoint, region, credentials: OPERATOR });
  await adoptTable(table, openTableScanner(['secondFactor'], tableName, client));
  client.destroy();
  // A token that was issued in the second of the adoption or before is rejected.
  await wait(2000);
  setup = await openSetup(gatehouse);
  restores++;
  disturbed++;
  isCalm = false;
  restoring = undefined;
}

interface State {
  readonly held: number;
  readonly running: number;
  readonly failed: number | undefined;
}

/** Shorter than the 15 minutes for which a token of a module is valid. */
const RENEWAL_MS = 600_000;

/** Renews what has expired, what the last restore has ended, and what is refused. */
function renewed<T>(create: () => Promise<T>): (isRefused?: boolean) => Promise<T> {
  let [value, since, at]: [Promise<T> | undefined, number, number] = [undefined, -1, 0];
  return (isRefused) => {
    if (isRefused || since < restores || at < Date.now() - RENEWAL_MS)
      [value, since, at] = [create(), restores, Date.now()];
    return value as Promise<T>;
  };
}

/** An integration with a parameter, an administrator, and the module that polls. */
async function openLane(name: string) {
  // Each has a read budget of its own.
  await gatehouse.makeCaller(name, { authorities: ['ROLE_ADMIN'] });
  const admin = renewed(() => gatehouse.tokenOf(name));
  const asAdmin = (method: string, path: string, body?: object) =>
    unlessRestoring(async () => gatehouse.call(method, path, { token: await admin(), body }));
  const { body: integration } = await asAdmin('POST', '/api/utm-integrations', {
    name: 'Gate',
    shortName: 'gate',
    integrationType: 'API',
  });
  const { id } = integration;
  const { body: parameter } = await asAdmin('POST', '/api/utm-integration-confs', {
    integration: { id },
    confName: 'counter',
    confValue: '0',
  });
  const module = renewed(() => setup.module(id));
  const path = `/api/utm-integrations/${id}/module`;
  const asModule = (headers: Record<string, string>) =>
    unlessRestoring(async () => {
      const poll = async (isRefused?: boolean) =>
        gatehouse.call('GET', path, { token: (await module(isRefused)).token, headers });
      const received = await poll();
      // The setup writes the credential without a condition, so a change can overwrite it.
      return received.status === 401 ? poll(true) : received;
    });
  const change = (confValue: string) =>
    asAdmin('PUT', '/api/utm-integration-confs', {
      id: parameter.id,
      integration: { id },
      confName: 'counter',
      confValue,
    });
  return { change, read: () => asAdmin('GET', path), asModule };
}

/** Changes a parameter and polls. Returns what was wrong. */
async function pollWhileChanging(
  { change, read, asModule }: Awaited<ReturnType<typeof openLane>>,
  polls: number,
  onPoll: () => void,
): Promise<string[]> {
  const wrong: string[] = [];
  /** The value of the parameter by the number of the configuration. */
  const values = new Map<number, string>();
  const note = (wanted: number, value: string) => {
    if ((values.get(wanted) ?? value) !== value)
      wrong.push(`${wanted}: ${value} and another value`);
    values.set(wanted, value);
  };
  let committed = 0;
  let ended = false;

  async function changeAll(): Promise<void> {
    for (let n = 1; !ended; n++) {
      await change(`${n}`);
      const { status, body } = await read();
      if (status !== 200) continue;
      note(body.module.wanted, body.parameters[0].confValue);
      committed = body.module.wanted;
    }
  }

  async function poll(): Promise<void> {
    let state: State = { held: 0, running: 0, failed: undefined };
    const earlier: State[] = [state];
    const stated: [at: number, text: string][] = [];
    for (let n = 0; n < polls; n++) {
      onPoll();
      if (random() < 0.02) state = earlier[Math.floor(random() * earlier.length)] as State;
      if (random() < 0.02) state = { ...state, held: 0 };
      const { held, running, failed } = state;
      const [atStart, disturbedBefore] = [committed, disturbed];
      // Three reports are recorded in a second.
      const since = Date.now() - 1500;
      stated.push([Date.now(), `${[running, failed]}`]);
      if (stated.length > 2000) stated.splice(0, 1000);
      const { status, body } = await asModule({
        'Gatehouse-Running': failed === undefined ? `${running}` : `${running};failed=${failed}`,
        ...(held > 0 && { 'If-None-Match': `"${held}"` }),
      });
      // A number that failed is not sent again.
      if (status === 304 && Math.max(held, failed ?? 0) < atStart)
        wrong.push(`304 for ${held} although ${atStart} was committed`);
      if (![200, 304, 503, 429].includes(status)) wrong.push(`status ${status}`);
      if (disturbed === disturbedBefore && status < 400 && random() < 0.1) {
        const { body: seen } = await read();
        const stored = seen?.module && [seen.module.running, seen.module.failed ?? undefined];
        // A call that was disturbed meanwhile may have been this poll's.
        const recent = stated.filter(([at]) => at >= since).map(([, text]) => text);
        if (stored && disturbed === disturbedBefore && !recent.includes(`${stored}`))
          wrong.push(`${stored} is stored, and ${[running, failed]} was stated`);
      }
      const isLost = random() < 0.03;
      if (status !== 200 || isLost) continue;
      const { wanted } = body.module;
      note(wanted, body.parameters[0].confValue);
      const isApplied = random() < 0.9;
      state = isApplied
        ? { held: wanted, running: wanted, failed: undefined }
        : { held: wanted, running, failed: wanted };
      if (random() < 0.1) earlier.push(state);
    }
  }

  const changing = changeAll();
  await poll();
  ended = true;
  await changing;
  return wrong;
}

it(`${POLLS} polls never get a wrong 304, and what runs is what was stated (SEED=${seed})`, {
  timeout: 1_800_000,
}, async () => {
  setup = await openSetup(gatehouse);
  isCalm = true;
  const lanes = await Promise.all(Array.from({ length: LANES }, (_, n) => openLane(`lane-${n}`)));
  let backup = await itemsOf(gatehouse.cloud);
  isCalm = false;
  let polls = 0;
  const onPoll = () => {
    polls++;
    if (polls % POLLS_PER_RESTORE === POLLS_PER_RESTORE / 2) restoring = restore(backup);
    else if (polls % POLLS_PER_RESTORE === POLLS_PER_RESTORE / 4)
      void itemsOf(gatehouse.cloud).then((items) => {
        backup = items;
      });
  };
  const wrong = await Promise.all(
    lanes.map((lane) => pollWhileChanging(lane, POLLS / LANES, onPoll)),
  );
  await restoring;
  isCalm = true;

  expect(disturbed).toBeGreaterThan(POLLS / 100);
  expect(restores).toBe(RESTORES);
  expect([...new Set(wrong.flat())].slice(0, 10)).toEqual([]);
});
