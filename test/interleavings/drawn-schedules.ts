import type { Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { User } from '../../lib/users/user.ts';
import { deterministic } from './determinism.ts';
import { DRAWN_ITEMS, type Draw, drawCall, drawerOf } from './drawn-calls.ts';
import { ada, administration, bob, codeNow, cyd, fay, ownAccount, pia, tableOf } from './people.ts';
import { nameOfScenario, Opened } from './scenario.ts';
import { callOf, isFinal, type Move, movesIn, type Request, startOf, stateAfter } from './state.ts';
import { type Call, Engine, itemsOf, type World } from './worlds.ts';

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
    while (schedules.length < count) {
      const opened = new Opened(drawScenario(draw));
      const engine = new Engine();
      const start = engine.world(opened.scenario.items);
      const left = Math.min(SCHEDULES_PER_SCENARIO, count - schedules.length);
      for (let drawn = 0; drawn < left; drawn++)
        schedules.push(await drawSchedule(draw, opened, engine, start));
    }
    return schedules;
  });
}

function drawScenario(draw: Draw) {
  const user = draw.one([bob, fay, pia]);
  const others = draw.isTrue(0.5) ? [ada, cyd] : [ada];
  const requests = [...administer(ada, user), ...administer(bob, ada), ...own(user, 1)];
  const first = draw.one(requests);
  const second = draw.one([...administer(ada, user), ...own(user, 2)]);
  const third = draw.isTrue(0.5) ? [draw.one(requests)] : [];
  const users = new Set([bob, user, ...others]);
  return { requests: [first, second, ...third], items: [...tableOf(...users), ...DRAWN_ITEMS] };
}

const administer = (by: User, user: User): Request[] => [
  administration.create(by, 'new'),
  administration.createAdministrator(by, 'new'),
  administration.rename(by, user, 'new'),
  administration.move(by, user, 'new'),
  administration.promote(by, user),
  administration.demote(by, user),
  administration.deactivate(by, user),
  administration.activate(by, user),
  administration.remove(by, user),
  administration.endSessions(by, user),
  administration.endSession(by, user),
  administration.removeFactor(by, user),
];

const own = (user: User, session: number): Request[] => [
  ownAccount.update(user, session),
  ownAccount.move(user, 'new', session),
  ownAccount.requestEmail(user, session),
  ownAccount.confirmEmail(user),
  ownAccount.changePassword(user, session),
  ownAccount.resetPassword(user),
  ownAccount.logIn(user, user.secondFactor ? codeNow(user) : null),
  ownAccount.logOut(user, session),
  ownAccount.endOthers(user, session),
  ownAccount.endSession(user),
  ownAccount.requestFactor(user, session),
  ownAccount.confirmFactor(user),
  ownAccount.disableFactor(user, session),
  ownAccount.replaceCodes(user, session),
];

const CALM: readonly Move['kind'][] = ['served', 'repeats', 'arrives'];
const REACHES_ENGINE: readonly Move['kind'][] = ['served', 'lost', 'arrives'];

/** After the walk come drawn calls, which the rules do not make. */
async function drawSchedule(
  draw: Draw,
  { scenario, requests }: Opened,
  engine: Engine,
  start: World,
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
  try {
    const { reply, world: after } = engine.execute(call, world);
    const result: Result = reply.codes ? { codes: reply.codes } : { items: reply.items ?? [] };
    return { result, after };
  } catch (error) {
    return { result: { error: (error as Error).name }, after: world };
  }
}
