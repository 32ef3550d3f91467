import { textOfMove } from './moves.ts';
import { callOf, type Explored, type Move, type State, startOf, stateAfter } from './state.ts';
import type { Call, Engine, Reply, World } from './worlds.ts';

/* Schedules as readers of the rules understand them. */

const EVENTS: Record<Exclude<Move['kind'], 'served'>, string> = {
  lost: 'takes effect, but the response is lost',
  never: 'never arrives',
  busy: 'is refused because of a conflict',
  throttled: 'is throttled',
  dies: 'is under way when the process dies',
  repeats: 'is repeated by its client',
  arrives: 'arrives late',
};

/** A schedule to be read and to be repeated. */
export interface Schedule {
  /** One line per move: who, what, and with which reply. */
  readonly lines: readonly string[];
  /** The moves as moves.ts writes them. */
  readonly text: string;
}

/** Describes a schedule. */
export async function scheduleOf(
  moves: readonly Move[],
  requests: readonly Explored[],
  engine: Engine,
  start: World,
): Promise<Schedule> {
  let state: State = await startOf(requests, start, Number.POSITIVE_INFINITY);
  const lines: string[] = [];
  const texts: string[] = [];
  for (const move of moves) {
    texts.push(textOfMove(state, move));
    const call = callOf(state, move);
    const { reply } = call ? engine.execute(call, state.world) : { reply: undefined };
    state = await stateAfter(state, move, { engine, requests });
    const { name } = requests[move.process] ?? { name: 'a process that has died' };
    const { outcome } = state.processes[move.process]?.node ?? {};
    const event =
      move.kind === 'served' && call && reply ? replied(call, reply) : EVENTS[move.kind as 'lost'];
    lines.push(
      `${name}: ${[call && described(call), event].filter(Boolean).join(' ')}` +
        (outcome ? ` => ${outcome.text.split('\n')[0]}` : ''),
    );
  }
  return { lines, text: texts.join(' ') };
}

const keyText = ({ pk, sk }: { readonly pk: string; readonly sk: string }): string =>
  `${pk} ${sk.replace(/^0+(?=\d)/, '')}`;

function described(call: Call): string {
  if (call.operation === 'query') return `reads ${call.pk}`;
  if ('keys' in call) return `reads ${call.keys.map(keyText).join(', ')}`;
  const written = call.writes.filter(({ key }) => !/^(AUDIT|MAIL|TOTAL)/.test(key.pk));
  return `commits ${written.map(({ act, key }) => `${act} ${keyText(key)}`).join(', ')}`;
}

function replied(call: Call, { codes, items }: Reply): string {
  if ('keys' in call) {
    const absent = call.keys.filter((_, position) => !items?.[position]);
    return absent.length > 0 ? `(absent: ${absent.map(keyText).join(', ')})` : '';
  }
  if (!codes || !('writes' in call)) return '';
  const failed = call.writes.filter((_, position) => codes[position] !== 'None');
  return `(refused: ${failed.map(({ key }) => keyText(key)).join(', ')})`;
}
