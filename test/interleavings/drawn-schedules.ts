import type { Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { SCENARIOS } from './catalogue.ts';
import { deterministic } from './determinism.ts';
import { DRAWN_ITEMS, type Draw, drawCall, drawerOf } from './drawn-calls.ts';
import { nameOfScenario, Opened } from './scenario.ts';
import { callOf, isFinal, type Move, movesIn, startOf, stateAfter } from './state.ts';
import { type Call, type Engine, itemsOf, type World } from './worlds.ts';

/** The result of a call that reached the engine: items, codes of a transaction, or an error. */
export interface Result {
  readonly items?: readonly (Item | undefined)[];
  readonly codes?: readonly string[];
  readonly error?: string;
}

interface Step {
  readonly call: Call;
  readonly result: Result;
}

/** The calls of a schedule that reach the engine, with their results in the engine in memory. */
export interface Schedule {
  readonly name: string;
  readonly start: readonly Item[];
  readonly steps: readonly Step[];
  readonly end: readonly Item[];
}

const SCHEDULES_PER_SCENARIO = 10;
const DRAWN_CALLS = 6;

/** Draws schedules of random scenarios: a random walk each, with up to two faults. */
export function drawSchedules(random: () => number, count: number): Promise<Schedule[]> {
  const draw = drawerOf(random);
  return deterministic(async () => {
    const schedules: Schedule[] = [];
    const scenarios = scenariosOfUsers();
    while (schedules.length < count) {
      const scenario = draw.one(scenarios);
      const opened = new Opened({ ...scenario, items: [...scenario.items, ...DRAWN_ITEMS] });
      const left = Math.min(SCHEDULES_PER_SCENARIO, count - schedules.length);
      for (let drawn = 0; drawn < left; drawn++) schedules.push(await drawSchedule(draw, opened));
    }
    return schedules;
  });
}

/** Parameters are left out: the engines return bytes of different classes. */
const scenariosOfUsers = () => [
  ...SCENARIOS.pairsAboutUsers(),
  ...SCENARIOS.pairsOfAdministrators(),
  ...SCENARIOS.recreations(),
  ...SCENARIOS.triplesOfAdministrators(),
];

const CALM: readonly Move['kind'][] = ['served', 'repeats', 'arrives'];
const REACHES_ENGINE: readonly Move['kind'][] = ['served', 'lost', 'arrives'];

/** After the walk come drawn calls, which the rules do not make. */
async function drawSchedule(
  draw: Draw,
  { scenario, requests, start, engine }: Opened,
): Promise<Schedule> {
  const steps: Step[] = [];
  const send = (call: Call, world: World): World => {
    const { result, after } = sent(engine, call, world);
    steps.push({ call, result });
    return after;
  };
  let state = await startOf(requests, start, draw.below(3));
  for (;;) {
    const moves = movesIn(state);
    if (moves.length === 0 || (isFinal(state) && draw.isTrue(0.2))) break;
    const calm = moves.filter(({ kind }) => CALM.includes(kind));
    const move = draw.one(draw.isTrue(0.2) ? moves : calm);
    const call = callOf(state, move);
    if (call && REACHES_ENGINE.includes(move.kind)) {
      const after = send(call, state.world);
      if (move.kind === 'lost' && call.operation === 'transact') {
        send(call, after);
        if (after !== state.world) send(withOtherWrites(call), after);
      }
    }
    state = await stateAfter(state, move, { engine, requests });
  }
  let { world } = state;
  for (let drawn = 0; drawn < DRAWN_CALLS; drawn++)
    world = send(drawCall(draw, itemsOf(world)), world);
  return { name: nameOfScenario(scenario), start: itemsOf(start), steps, end: itemsOf(world) };
}

const UNUSED: Key = { pk: 'UNUSED', sk: 'UNUSED' };

/** Another transaction with the same client token, which is rejected if the first has committed. */
const withOtherWrites = (call: Call & { readonly operation: 'transact' }): Call => ({
  ...call,
  id: -call.id - 1,
  writes: [{ act: 'Delete', key: UNUSED }],
});

function sent(engine: Engine, call: Call, world: World) {
  const { reply, world: after } = engine.execute(call, world);
  const { codes, error, items = [] } = reply;
  const result: Result = error ? { error: error.name } : codes ? { codes } : { items };
  return { result, after };
}
