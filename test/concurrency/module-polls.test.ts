import { expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { LONG } from '../support/instance/long.ts';
import { openSetup } from '../support/instance/setup.ts';
import { randomNumbers } from '../support/model/contention.ts';
import { seed } from '../support/model/seed.ts';

/*
 * Modules that poll while people change what they run, while calls to the table fail or succeed
 * without a response, responses get lost, and modules are reset to an earlier state or restarted.
 */

const POLLS = LONG ? 100_000 : 800;
const LANES = 4;

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
interface State {
  readonly held: number;
  readonly running: number;
  readonly failed: number | undefined;
}

async function lane(name: string, polls: number): Promise<string[]> {
  isCalm = true;
  // Each has a read budget of its own.
  const { token: admin } = await gatehouse.makeCaller(name, { authorities: ['ROLE_ADMIN'] });
  const asAdmin = (method: string, path: string, body?: object) =>
    gatehouse.call(method, path, { token: admin, body });
  const setup = await openSetup(gatehouse);
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
  const { token } = await setup.module(id);
  isCalm = false;
  const path = `/api/utm-integrations/${id}/module`;
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

  async function change(): Promise<void> {
    for (let n = 1; !ended; n++) {
      const body = {
        id: parameter.id,
        integration: { id },
        confName: 'counter',
        confValue: `${n}`,
      };
      await asAdmin('PUT', '/api/utm-integration-confs', body);
      const { status, body: read } = await gatehouse.call('GET', path, { token: admin });
      if (status !== 200) continue;
      note(read.module.wanted, read.parameters[0].confValue);
      committed = read.module.wanted;
    }
  }

  async function poll(): Promise<void> {
    let state: State = { held: 0, running: 0, failed: undefined };
    const earlier: State[] = [state];
    const stated: [at: number, text: string][] = [];
    for (let n = 0; n < polls; n++) {
      if (random() < 0.02) state = earlier[Math.floor(random() * earlier.length)] as State;
      if (random() < 0.02) state = { ...state, held: 0 };
      const { held, running, failed } = state;
      const [atStart, disturbedBefore] = [committed, disturbed];
      stated.push([Date.now(), `${[running, failed]}`]);
      if (stated.length > 2000) stated.splice(0, 1000);
      const { status, body } = await gatehouse.call('GET', path, {
        token,
        headers: {
          'Gatehouse-Running': failed === undefined ? `${running}` : `${running};failed=${failed}`,
          ...(held > 0 && { 'If-None-Match': `"${held}"` }),
        },
      });
      // A number that failed is not sent again.
      if (status === 304 && Math.max(held, failed ?? 0) < atStart)
        wrong.push(`304 for ${held} although ${atStart} was committed`);
      if (![200, 304, 503, 429].includes(status)) wrong.push(`status ${status}`);
      if (disturbed === disturbedBefore && status < 400 && random() < 0.1) {
        const { body: read } = await gatehouse.call('GET', path, { token: admin });
        const stored = read?.module && [read.module.running, read.module.failed ?? undefined];
        // A call that was disturbed meanwhile may have been that of this poll. Three reports
        // are recorded in a second.
        const since = Date.now() - 1500;
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

  const changing = change();
  await poll();
  ended = true;
  await changing;
  return wrong;
}

it(`${POLLS} polls never get a wrong 304, and what runs is what was stated (SEED=${seed})`, {
  timeout: 1_800_000,
}, async () => {
  const wrong = await Promise.all(
    Array.from({ length: LANES }, (_, n) => lane(`lane-${n}`, POLLS / LANES)),
  );
  isCalm = true;

  expect(disturbed).toBeGreaterThan(POLLS / 100);
  expect(wrong.flat().slice(0, 10)).toEqual([]);
});
